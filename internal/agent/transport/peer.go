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

// An Identity is what the system says of a process besides its number and user. Empty fields are not known: a process
// that has ended, or whose number may be another's by now, has none.
type Identity struct {
	SID       string // the user of its token, on Windows
	Elevated  bool   // the token is elevated, on Windows
	Container string // the isolated container that it runs in, by its id, or NoContainer; on Linux its control group
}

// NoContainer is the Container of a process of the node itself, on Windows.
const NoContainer = "none"

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

// PeerOf returns the other end of a connection of these Endpoints, and the zero Peer for any other connection.
func PeerOf(c net.Conn) Peer {
	if known, ok := c.(*Conn); ok {
		return known.Peer
	}
	return Peer{}
}

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
