// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"net"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/transport"
)

// Clients keeps track of the processes that have connections to the endpoints of one server, or running calls on it.
type Clients struct {
	limits  Limits
	logger  klog.Logger
	metrics *Metrics

	mu      sync.Mutex
	closed  bool               // no more connections are admitted
	known   map[uint32]*Client // by process number
	conns   map[*Conn]struct{}
	streams int
	running int       // calls
	lines   []*Client // with waiting calls, the next one first
	held    int       // bytes, for open streams
	log     allowance
}

// New returns Clients without entries. The metrics may be nil.
func New(l Limits, logger klog.Logger, m *Metrics) *Clients {
	if m == nil {
		m = NewMetrics() // never collected
	}
	return &Clients{limits: l.complete(), log: allowance{burst: allBurst, every: allEvery}, logger: logger, metrics: m, known: map[uint32]*Client{}, conns: map[*Conn]struct{}{}}
}

// A Client is one process, with its connections, streams and calls.
type Client struct {
	peer  transport.Peer // as of its first connection
	all   *Clients
	log   allowance
	conns []*Conn

	streams int // see OpenStream
	running int // calls
	waiting []chan struct{}
	held    int  // bytes, for open streams
	resting bool // see forget
	unread  int  // see wire
}

// Peer returns the process.
func (c *Client) Peer() transport.Peer { return c.peer }

// MayLog reports whether a line about the client's calls may be written, and how many were left out since the last one.
func (c *Client) MayLog() (ok bool, leftOut int) {
	if ok, leftOut = c.log.take(); !ok {
		return false, 0
	}
	if ok, _ := c.all.log.take(); !ok {
		c.log.leaveOut(leftOut + 1)
		return false, 0
	}
	return true, leftOut
}

// admit registers a new connection; it returns nil after Close. When the connection is one too many, the client that has
// most loses one: its oldest one on which nothing ever arrived, as drivers' probes leave them behind, otherwise its newest.
// So a client can push out nobody who has fewer connections than itself.
func (cs *Clients) admit(accepted net.Conn) *Conn {
	cs.mu.Lock()
	if cs.closed {
		cs.mu.Unlock()
		return nil
	}
	client := cs.of(transport.PeerOf(accepted))
	c := &Conn{Conn: accepted, client: client, wire: newWire()}
	client.conns = append(client.conns, c)
	cs.conns[c] = struct{}{}
	cs.metrics.connections.Inc()
	var victim *Conn
	switch {
	case len(client.conns) > cs.limits.ClientConnections:
		victim = client.leastMissed()
	case len(cs.conns) > cs.limits.Connections:
		victim = cs.heaviest(client).leastMissed()
	}
	cs.mu.Unlock()
	if victim != nil {
		cs.drops(victim, "too many connections are open", "limit", cs.limits.ClientConnections, "limitOfAll", cs.limits.Connections)
	}
	return c
}

// drops closes a connection, and says why.
func (cs *Clients) drops(victim *Conn, why string, details ...any) {
	cs.metrics.dropped.Inc()
	if told, untold := victim.client.MayLog(); told {
		cs.logger.Info("dropped a connection: "+why, append(details, "client", victim.client.peer.String(), "linesLeftOut", untold)...)
	}
	_ = victim.Close()
}

// of returns the client of a peer. A process is identified by its number alone: the rest may change or be unreadable each
// time that it connects. Where the system gives no number, every connection is a client of its own.
func (cs *Clients) of(peer transport.Peer) *Client {
	if known := cs.known[peer.PID]; known != nil {
		return known
	}
	c := &Client{peer: peer, all: cs, log: allowance{burst: clientBurst, every: clientEvery}}
	if peer.PID != 0 {
		cs.known[peer.PID] = c
	}
	return c
}

// heaviest returns the client with the most connections; among several, the newcomer if it is one of them.
func (cs *Clients) heaviest(newcomer *Client) *Client {
	most := newcomer
	for _, c := range cs.known {
		if len(c.conns) > len(most.conns) {
			most = c
		}
	}
	return most
}

// leastMissed returns the connection whose loss costs a client least.
func (c *Client) leastMissed() *Conn {
	if i := slices.IndexFunc(c.conns, (*Conn).silent); i >= 0 {
		return c.conns[i]
	}
	return c.conns[len(c.conns)-1]
}

// silent reports whether the client has sent nothing yet.
func (c *Conn) silent() bool { return !c.spoke.Load() }

// leave removes a closed connection; later calls do nothing.
func (c *Client) leave(closed *Conn) {
	cs := c.all
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if _, open := cs.conns[closed]; !open {
		return
	}
	delete(cs.conns, closed)
	closed.closed()
	c.conns = slices.DeleteFunc(c.conns, func(one *Conn) bool { return one == closed })
	cs.metrics.connections.Dec()
	c.forget()
}

// forget removes a client that has nothing open and nothing running. A client that has closed its connections is kept
// until its streams and its operations on the node are over, and until it may log as much as a new one: it may come back
// for more.
func (c *Client) forget() {
	cs := c.all
	if len(c.conns) > 0 || c.streams > 0 || c.running > 0 || cs.known[c.peer.PID] != c || c.resting {
		return
	}
	rest := c.log.restored()
	if rest <= 0 {
		delete(cs.known, c.peer.PID)
		return
	}
	c.resting = true
	time.AfterFunc(rest, func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		c.resting = false
		c.forget()
	})
}

// Close admits no more connections and drops those on which nothing ever arrived. Clients probe an endpoint by connecting,
// and some neither send a byte nor close; a gRPC server waits for the first bytes of each of them before it stops.
func (cs *Clients) Close() {
	cs.mu.Lock()
	cs.closed = true
	cs.mu.Unlock()
	cs.drop((*Conn).silent)
}

// DropAll closes all connections.
func (cs *Clients) DropAll() { cs.drop(func(*Conn) bool { return true }) }

func (cs *Clients) drop(match func(*Conn) bool) {
	cs.mu.Lock()
	var drop []*Conn
	for c := range cs.conns {
		if match(c) {
			drop = append(drop, c)
		}
	}
	cs.mu.Unlock()
	for _, c := range drop {
		_ = c.Close()
	}
}
