// SPDX-License-Identifier: Apache-2.0

// Package transport opens an agent's endpoints, unix sockets in a directory or Windows named pipes, and names the
// process at the other end of each connection. As a service that runs as SYSTEM must, it owns every name that it serves
// from the first moment on, and admits only clients that the directory's mode or the pipe's security descriptor allows.
//
// On Windows one goroutine waits for the clients of all pipes, and every pipe always has several free instances, for
// clients that come at the same moment. A connection is an os.File on an overlapped handle, which Go's poller serves.
package transport

//go:generate env GOWORK=off go tool -modfile=../../../tools/mkwinsyscall/go.mod mkwinsyscall -output zsyscall_windows.go ntdll_windows.go
