// SPDX-License-Identifier: Apache-2.0

// Package winapi binds the Windows functions that golang.org/x/sys/windows lacks, one file for each DLL. The bodies are
// generated from the //sys lines. Off Windows it is empty.
package winapi

//go:generate env GOWORK=off go tool -modfile=../../../../../tools/mkwinsyscall/go.mod mkwinsyscall -output zsyscall_windows.go cfgmgr32.go iscsidsc.go kernel32.go ntdll.go user32.go
