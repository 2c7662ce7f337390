// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"
	"net"
)

// A Peer describes the process that opened a connection, as of the moment when the connection was accepted. Numbers are
// reused; ProcessOf is what holds on to the process. The zero value is a process that the system does not name.
type Peer struct {
	PID   uint32 // 0: unknown; also, on Linux, a process outside the agent's PID namespace
	UID   *int   // the user, on Linux
	Image string // the program's path, on Windows, if available
	Identity
	InProcess bool // the client is this process itself; the other fields are not set
}

// Known reports whether the system names the process, or at least its user.
func (p Peer) Known() bool { return p.PID != 0 || p.UID != nil }

// String returns the peer as log lines show it.
func (p Peer) String() string {
	switch {
	case p.InProcess:
		return "in process"
	case !p.Known():
		return "unknown process"
	case p.UID != nil:
		return fmt.Sprintf("pid %d uid %d", p.PID, *p.UID)
	case p.Image != "":
		return fmt.Sprintf("pid %d %s", p.PID, p.Image)
	default:
		return fmt.Sprintf("pid %d", p.PID)
	}
}

// A Conn is an accepted connection and the client at its other end.
type Conn struct {
	net.Conn
	Peer    Peer
	Process Process // see ProcessOf
}

// PeerOf returns the other end of a connection that a listener of these Endpoints accepted, and the zero Peer for any
// other connection.
func PeerOf(c net.Conn) Peer {
	if known, ok := c.(*Conn); ok {
		return known.Peer
	}
	return Peer{}
}
