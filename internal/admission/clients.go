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
	own     string // container of this process

	mu         sync.Mutex
	closed     bool               // no more connections are admitted
	known      map[uint32]*Client // that have not ended, as far as is known, by process number
	seen       uint64             // connections so far
	ended      map[string]*account
	containers map[string]*container
	conns      map[*Conn]struct{}
	tally                 // of all
	lines      []*account // with waiting calls, the next one first
	asked      time.Time  // when buryAll last did
	scarce     uint64     // seen when only the reserve of calls was left; 0: more are left
	log        allowance
	brake      brake
}

// New returns Clients without entries. The metrics may be nil.
func New(l Limits, logger klog.Logger, m *Metrics) *Clients {
	if m == nil {
		m = NewMetrics() // never collected
	}
	return &Clients{
		limits: l.complete(), own: transport.OwnContainer(), log: allowance{burst: allBurst, every: allEvery}, logger: logger, metrics: m,
		known: map[uint32]*Client{}, ended: map[string]*account{}, containers: map[string]*container{}, conns: map[*Conn]struct{}{},
	}
}

// A Client is one process.
type Client struct {
	*account
	peer      transport.Peer    // as of its first connection
	container string            // see containerOf
	process   transport.Process // nil: it cannot be held, or it rests
	all       *Clients
	log       allowance
	resting   bool    // see forget
	arrived   []*Conn // that wait for its turn, the first one first; guarded by brake.mu
	turned    uint64  // its last turn, at first the last of all; likewise
	in        *line   // in which it waits; likewise
	alone     line    // of a client that is in no container; likewise
}

// containerOf returns the container of a process, "" if it is in none or that is not known. The root of the control groups is
// the node itself, and so is what the agent is in.
func (cs *Clients) containerOf(p transport.Peer) string {
	if p.Container == transport.NoContainer || p.Container == "/" || p.Container == cs.own {
		return ""
	}
	return p.Container
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

// admit registers a new connection; it returns nil after Close. When the connection is one too many, see surplus.
func (cs *Clients) admit(accepted net.Conn) *Conn {
	process := transport.ProcessOf(accepted)
	cs.mu.Lock()
	if cs.closed {
		cs.mu.Unlock()
		if process != nil {
			_ = process.Close()
		}
		return nil
	}
	client := cs.of(transport.PeerOf(accepted), process)
	c := &Conn{Conn: accepted, client: client, wire: newWire(), heard: time.Now()}
	client.account.open = append(client.account.open, c)
	client.count(func(t *tally) { t.conns++ })
	cs.conns[c] = struct{}{}
	c.line = &client.alone
	if all := cs.containers[client.container]; all != nil {
		c.line = &all.line
	}
	cs.metrics.connections.Inc()
	victim := cs.surplus(client)
	cs.mu.Unlock()
	if victim != nil {
		cs.drops(victim, "too many connections are open", "limit", cs.limits.ClientConnections, "limitOfAll", cs.limits.Connections)
	}
	return c
}

// surplus returns the connection that is one too many, if there is one. If they are too many in all, those go first whose
// process has ended, and then those of the process that has most, in the container that has most. So nobody can push out
// one who has fewer connections.
func (cs *Clients) surplus(newcomer *Client) *Conn {
	count := func(t *tally) int { return t.conns }
	switch {
	case newcomer.account.conns > cs.limits.ClientConnections:
		return newcomer.account.leastMissed()
	case cs.tally.conns <= cs.limits.Connections:
		return nil
	}
	cs.buryAll()
	gone := &account{}
	for _, a := range cs.ended {
		if a.conns > gone.conns {
			gone = a
		}
	}
	if gone.conns > 0 {
		return gone.leastMissed()
	}
	return cs.heaviest(newcomer.account, count).leastMissed()
}

// drops closes a connection, and says why.
func (cs *Clients) drops(victim *Conn, why string, details ...any) {
	cs.metrics.dropped.Inc()
	if told, untold := victim.client.MayLog(); told {
		cs.logger.Info("dropped a connection: "+why, append(details, "client", victim.client.peer.String(), "linesLeftOut", untold)...)
	}
	_ = victim.Close()
}

// of returns the client of a peer, and takes over the hold on its process. Where the system does not let processes be held,
// their number alone identifies them: the rest may change or be unreadable each time that one connects. Where it gives no
// number, every connection is a client of its own.
func (cs *Clients) of(peer transport.Peer, process transport.Process) *Client {
	cs.seen++
	c := &Client{
		peer: peer, container: cs.containerOf(peer), process: process, all: cs, log: allowance{burst: clientBurst, every: clientEvery},
		turned: cs.brake.turns.Load(), alone: cs.brake.newLine(),
	}
	c.account = &account{container: c.container, number: cs.seen}
	if process != nil && process.Ended() { // another one may have its number
		c.release()
		c.account = cs.ofEnded(c.container)
		return c
	}
	if known := cs.known[peer.PID]; known != nil && !known.bury() {
		if known.process == nil {
			known.process = process
		} else {
			c.release()
		}
		return known
	}
	if peer.PID != 0 {
		cs.known[peer.PID] = c
	}
	return c
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
	c.account.open = slices.DeleteFunc(c.account.open, func(one *Conn) bool { return one == closed })
	c.count(func(t *tally) { t.conns-- })
	cs.metrics.connections.Dec()
	c.forget()
}

// forget removes a client that has nothing open and nothing running. A client that has closed its connections is kept
// until its streams and its operations on the node are over, and until it may log as much as a new one: it may come back
// for more.
func (c *Client) forget() {
	cs := c.all
	if c.account.tally != (tally{}) || cs.known[c.peer.PID] != c || c.resting {
		return
	}
	c.release() // there may be many such, and a process that gets the number meanwhile has little to lose
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
