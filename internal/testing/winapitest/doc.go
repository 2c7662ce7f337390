// SPDX-License-Identifier: Apache-2.0

// Package winapitest binds functions by which the tests prepare a Windows machine and which the agent does not need:
// accounts, shares, tokens with fewer rights, and the resizing of virtual disks. The bodies are generated from the
// //sys lines. Off Windows it is empty.
package winapitest

//go:generate env GOWORK=off go tool -modfile=../../../tools/mkwinsyscall/go.mod mkwinsyscall -output zsyscall_windows.go advapi32.go mpr.go netapi32.go virtdisk.go
