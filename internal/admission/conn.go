// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"net"
	"sync/atomic"
)

// Conn is one client's connection.
type Conn struct {
	net.Conn
	client *Client
	spoke  atomic.Bool // the client has sent a byte
}

// Client returns the client at the other end.
func (c *Conn) Client() *Client { return c.client }

// AuthType makes a connection the AuthInfo of its calls.
func (*Conn) AuthType() string { return "process" }

func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.spoke.Store(true)
	}
	return n, err
}

// Close closes the connection and removes it from the Clients.
func (c *Conn) Close() error {
	c.client.leave(c)
	return c.Conn.Close()
}

// Listen returns a listener that admits l's connections: each that it accepts is a *Conn.
func (cs *Clients) Listen(l net.Listener) net.Listener { return &listener{l, cs} }

type listener struct {
	net.Listener
	clients *Clients
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.clients.admit(accepted); c != nil {
			return c, nil
		}
		_ = accepted.Close()
	}
}
