// SPDX-License-Identifier: Apache-2.0

// Package transport opens the places where clients find an agent, unix sockets in a directory or Windows named pipes,
// and names the process at the other end of each connection. As a service that runs as SYSTEM must, it owns every name
// that it serves from the first moment on, and admits only the clients that the place names.
//
// On Windows one goroutine waits for the clients of all pipes, and every pipe always has several free instances, for
// clients that come at the same moment. A connection is an os.File on an overlapped handle, which Go's poller serves.
package transport

//go:generate env GOWORK=off go tool -modfile=../../../tools/mkwinsyscall/go.mod mkwinsyscall -output zsyscall_windows.go ntdll_windows.go
