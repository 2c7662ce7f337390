// SPDX-License-Identifier: Apache-2.0

// Package winapi binds the functions by which the tests prepare a Windows machine and which the agent does not need:
// accounts, shares, and the resizing of virtual disks. The bodies are generated from the //sys lines. Off Windows it is
// empty.
package winapi

//go:generate env GOWORK=off go tool -modfile=../../../tools/mkwinsyscall/go.mod mkwinsyscall -output zsyscall_windows.go mpr.go netapi32.go virtdisk.go
