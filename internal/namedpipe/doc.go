// SPDX-License-Identifier: Apache-2.0

// Package namedpipe listens on Windows named pipes as a service that speaks for SYSTEM has to: it owns the names that it
// serves from their first instance on, lets in only whom a security descriptor names, refuses other machines, and always
// has several free instances, so that clients that come at the same moment find one. Off Windows it is empty.
//
// One goroutine waits for the clients of all pipes of a Set. A connection is an os.File on an overlapped handle, served by
// the Go runtime's own poller from then on.
package namedpipe
