// SPDX-License-Identifier: Apache-2.0

package transport

import "net"

// An Identity is what the system says of a process besides its number and user, as of the moment when its connection
// was accepted. Empty fields are not known: a process that has ended, or whose number may be another's by now, has
// none.
type Identity struct {
	SID       string // the user of its token, on Windows
	Elevated  bool   // the token is elevated, on Windows
	Container string // the isolated container that it runs in, by its id, or NoContainer; on Linux its control group
}

// NoContainer is the Container of a process of the node itself, on Windows.
const NoContainer = "none"

// identifying is a listener that adds to each connection the identity of the process that opened it.
type identifying struct{ net.Listener }

// Accept waits for the next connection.
func (l identifying) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if accepted, ok := c.(*Conn); ok && err == nil {
		accepted.Peer = identified(accepted.Conn, accepted.Peer)
	}
	return c, err
}
