// SPDX-License-Identifier: Apache-2.0

// Package winapi binds functions that golang.org/x/sys/windows lacks, a file for each DLL. Off Windows it is empty.
package winapi

//go:generate env GOWORK=off go tool -modfile=../../../../../tools/mkwinsyscall/go.mod mkwinsyscall -output zsyscall_windows.go cfgmgr32.go iscsidsc.go kernel32.go ntdll.go user32.go
