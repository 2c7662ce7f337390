// SPDX-License-Identifier: Apache-2.0

package webserver

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// MaxConnections is how many connections a server may have open. Scrapes, probes and browsers need a handful.
const MaxConnections = 256

// limitConns sets a server's handler and keeps at most MaxConnections open. Beyond that it closes the one that has
// waited for its client for longest, for a complete request or to take an answer: such a client never blocks a probe.
func limitConns(s *http.Server, handler http.Handler) {
	c := &connections{waiting: map[net.Conn]uint64{}}
	s.ConnState = c.note
	s.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, conn)
	}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _ := r.Context().Value(connKey{}).(net.Conn)
		c.note(conn, stateAnswering)
		a := &answer{ResponseWriter: w, status: http.StatusOK}
		handler.ServeHTTP(a, r)
		c.note(conn, http.StateIdle)
		a.send()
	})
}

type connKey struct{}

// stateAnswering is the state of a connection whose request has come whole, and whose answer is being made.
const stateAnswering http.ConnState = -1

// connections are a server's open ones. The lower its number, the longer one waits for its client; 0: it does not.
type connections struct {
	mu      sync.Mutex
	last    uint64
	waiting map[net.Conn]uint64
}

func (c *connections) note(conn net.Conn, state http.ConnState) {
	if victim := c.change(conn, state); victim != nil {
		_ = victim.Close()
	}
}

// change notes a connection's state, and returns one to be closed if too many are open.
func (c *connections) change(conn net.Conn, state http.ConnState) (victim net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	number, open := c.waiting[conn]
	switch {
	case state == http.StateNew, state == http.StateIdle && open && number == 0:
		c.waiting[conn] = c.last
	case state == stateAnswering && open:
		c.waiting[conn] = 0
	case state == http.StateClosed, state == http.StateHijacked:
		delete(c.waiting, conn)
	}
	if len(c.waiting) <= MaxConnections {
		return nil
	}
	for other, number := range c.waiting {
		if number > 0 && (victim == nil || number < c.waiting[victim]) {
			victim = other
		}
	}
	delete(c.waiting, victim)
	return victim
}
