// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net"
	"sync"
	"sync/atomic"
)

// listener keeps hold of the connections that it accepted. Clients probe an endpoint by connecting, and some never
// send a byte nor close; grpc.Server waits for the HTTP/2 preface of each of them before it stops, so the listener
// drops those when it is closed.
type listener struct {
	net.Listener
	clients *clients

	mu     sync.Mutex
	closed bool
	conns  map[*conn]struct{}
}

func track(l net.Listener, cs *clients) *listener {
	return &listener{Listener: l, clients: cs, conns: map[*conn]struct{}{}}
}

func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: accepted, owner: l, addr: peerAddr(accepted)}
	l.clients.admit(c) // first: Close may drop what has been taken
	if !l.take(c) {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	return c, nil
}

// take keeps hold of a connection, unless the listener is closed.
func (l *listener) take(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.conns[c] = struct{}{}
	return true
}

// Close stops accepting and drops the connections that never sent a byte.
func (l *listener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	err := l.Listener.Close()
	l.drop(func(c *conn) bool { return !c.spoke.Load() })
	return err
}

// drop closes the connections that match.
func (l *listener) drop(match func(*conn) bool) {
	l.mu.Lock()
	var drop []*conn
	for c := range l.conns {
		if match(c) {
			drop = append(drop, c)
		}
	}
	l.mu.Unlock()
	for _, c := range drop {
		_ = c.Close()
	}
}

// conn is one client's connection.
type conn struct {
	net.Conn
	owner   *listener
	addr    net.Addr
	process *process
	spoke   atomic.Bool // the client has sent something
}

// RemoteAddr names the client process, which tells more than the unnamed socket it calls from.
func (c *conn) RemoteAddr() net.Addr { return connAddr{c.addr, c} }

// connAddr is the address of a connection that leads back to it.
type connAddr struct {
	net.Addr
	conn *conn
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.spoke.Store(true)
	}
	return n, err
}

func (c *conn) Close() error {
	c.owner.mu.Lock()
	delete(c.owner.conns, c)
	c.owner.mu.Unlock()
	c.owner.clients.leave(c)
	return c.Conn.Close()
}
