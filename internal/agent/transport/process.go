// SPDX-License-Identifier: Apache-2.0

package transport

import "net"

// A Process is held by something that, unlike its number, never comes to mean another process.
type Process interface {
	// Ended reports whether the process has ended.
	Ended() bool
	// Close lets go of it.
	Close() error
}

// ended is a Process that was gone before it could be held.
type ended struct{}

func (ended) Ended() bool  { return true }
func (ended) Close() error { return nil }

// ProcessOf returns the process that opened a connection of these Endpoints, for its caller to close; nil where the
// system does not let it be held. The connection may outlive the process, which may have handed it to another one.
func ProcessOf(c net.Conn) Process {
	if known, ok := c.(*Conn); ok {
		return known.Process
	}
	return nil
}
