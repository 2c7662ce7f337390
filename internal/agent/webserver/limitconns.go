// SPDX-License-Identifier: Apache-2.0

package webserver

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// MaxConnections is how many connections a server may have open. Scrapes, probes and browsers need a handful.
const MaxConnections = 256

// limitConns sets a server's handler and keeps at most MaxConnections open. Beyond that it closes the connection that
// has waited for its client for longest: for a complete request, or to take an answer. So a client with many half-sent
// requests or unread answers loses those, and never blocks a probe.
func limitConns(s *http.Server, handler http.Handler) {
	c := &connections{waiting: list.New(), elements: map[net.Conn]*list.Element{}}
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

// connections are those of one server.
type connections struct {
	mu       sync.Mutex
	waiting  *list.List                 // those that wait for their clients, the first one for longest
	elements map[net.Conn]*list.Element // all that are open; nil for those that do not
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
	switch element, open := c.elements[conn]; state {
	case http.StateNew:
		c.elements[conn] = c.waiting.PushBack(conn)
	case stateAnswering:
		if element != nil {
			c.waiting.Remove(element)
			c.elements[conn] = nil
		}
	case http.StateIdle:
		if open && element == nil {
			c.elements[conn] = c.waiting.PushBack(conn)
		}
	case http.StateClosed, http.StateHijacked:
		if element != nil {
			c.waiting.Remove(element)
		}
		delete(c.elements, conn)
	case http.StateActive: // its first byte has come
	}
	if len(c.elements) > MaxConnections && c.waiting.Len() > 0 {
		victim, _ = c.waiting.Remove(c.waiting.Front()).(net.Conn)
		delete(c.elements, victim)
	}
	return victim
}
