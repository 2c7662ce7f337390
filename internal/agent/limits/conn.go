// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"net"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
)

// Conn is one client's connection.
type Conn struct {
	net.Conn
	client *Client
	// Guarded by Clients.mu.
	spoke    bool      // the client has sent a byte
	lastRead time.Time // at first when it was accepted
	calls    int       // that are open
	waits    int       // of them, that wait for hardware
}

// Client returns the client at the other end.
func (c *Conn) Client() *Client { return c.client }

// AuthType makes a connection the AuthInfo of its calls.
func (*Conn) AuthType() string { return "process" }

func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.client.clients.mu.Lock()
		c.spoke, c.lastRead = true, time.Now()
		c.client.clients.mu.Unlock()
	}
	return n, err
}

// Write times out if the client stops reading; gRPC then closes the connection.
func (c *Conn) Write(p []byte) (int, error) {
	_ = c.SetWriteDeadline(time.Now().Add(c.client.clients.limits.Write))
	return c.Conn.Write(p)
}

// Close closes the connection and removes it from the Clients.
func (c *Conn) Close() error {
	c.client.clients.mu.Lock()
	c.client.removeLocked(c)
	c.client.clients.mu.Unlock()
	return c.Conn.Close()
}

// OpenCall counts a call until done, or returns an error if the connection's client, or all, have too many.
func (c *Conn) OpenCall() (done func(), err error) {
	client, cs := c.client, c.client.clients
	cs.mu.Lock()
	defer cs.mu.Unlock()
	shared := client.calls >= cs.limits.ClientReserved
	switch {
	case client.calls >= cs.limits.ClientCalls:
		return nil, client.tooManyCallsLocked(cs.limits.ClientCalls, "this process")
	case shared && cs.calls >= cs.limits.Calls:
		return nil, client.tooManyCallsLocked(cs.limits.Calls, "all processes")
	}
	add := func(n int) {
		client.calls += n
		c.calls += n
		if shared {
			cs.calls += n
		}
	}
	add(1)
	return func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		add(-1)
		client.forgetLocked()
	}, nil
}

// OpenWait counts a call that waits for hardware until done, or returns an error if too many of the connection do.
func (c *Conn) OpenWait() (done func(), err error) {
	cs := c.client.clients
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c.waits >= cs.limits.ConnectionWaits {
		return nil, c.client.refuseLocked(errdefs.Unavailable,
			"%d calls of this connection wait for their disks already, and no more may, or its other calls would wait as well; "+
				"nothing was changed. Try again later, as kubelet does", c.waits)
	}
	c.waits++
	return func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		c.waits--
	}, nil
}

// refuseLocked notes that a call is refused, and returns its error.
func (c *Client) refuseLocked(class errdefs.Class, format string, args ...any) error {
	c.lastRefused = time.Now()
	return class.Errorf(reason.TooManyCalls, format, args...)
}

func (c *Client) tooManyCallsLocked(limit int, whose string) error {
	return c.refuseLocked(errdefs.ResourceExhausted,
		"%d calls of %s are open already; end those that are not needed, or try again later", limit, whose)
}

// Listen returns a listener whose connections are counted: each that it accepts is a *Conn.
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
		if c := l.clients.register(accepted); c != nil {
			return c, nil
		}
		_ = accepted.Close()
	}
}
