// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"net"
	"sync/atomic"
	"time"
)

// Conn is one client's connection.
type Conn struct {
	net.Conn
	client *Client
	spoke  atomic.Bool // the client has sent a byte
	heard  time.Time   // when it last sent some, at first when it was accepted; guarded by Clients.mu, as is wire
	wire   wire
	line   *line         // in which its client waits to be read
	turn   chan struct{} // closed when that for which it waits comes, nil if it does not wait; guarded by brake.mu
}

// Client returns the client at the other end.
func (c *Conn) Client() *Client { return c.client }

// AuthType makes a connection the AuthInfo of its calls.
func (*Conn) AuthType() string { return "process" }

func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.Await()
		c.spoke.Store(true)
		if victim, held := c.received(p[:n]); victim != nil {
			c.client.all.drops(victim, "its open calls hold too much", "bytes", held)
		}
	}
	return n, err
}

// Write fails when the client takes nothing for too long, upon which gRPC closes the connection.
func (c *Conn) Write(p []byte) (int, error) {
	_ = c.SetWriteDeadline(time.Now().Add(c.client.all.limits.Unread))
	n, err := c.Conn.Write(p)
	c.sent(p[:n])
	return n, err
}

// Close closes the connection and removes it from the Clients.
func (c *Conn) Close() error {
	c.client.leave(c)
	c.hurry()
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
