// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
)

// How many lines about failures are logged: of all clients, and of one.
const (
	logEvery, logBurst             = 100 * time.Millisecond, 200
	clientLogEvery, clientLogBurst = time.Second, 50
)

// Clients are the processes that have something open or running on one server.
type Clients struct {
	limits  Limits
	logger  klog.Logger
	metrics *Metrics
	log     *rate.Limiter

	mu      sync.Mutex
	closed  bool               // no more connections are admitted
	named   map[uint32]*Client // by process number
	clients map[*Client]struct{}
	conns   int
	calls   int // open calls, without those within their clients' reserves
	slots   int // slots in use, without those within their clients' reserves
	waiting []*waiter
}

// A Client is one process.
type Client struct {
	clients *Clients
	peer    transport.Peer    // as of its first connection
	process transport.Process // nil: the system does not let it be held
	log     *rate.Limiter

	conns     []*Conn // the oldest first
	calls     int
	slots     map[*Slot]struct{}
	reserved  int // of the slots
	waiters   int
	notLogged int

	lastRefused time.Time // zero: no call was
}

// New returns Clients without entries.
func New(l Limits, logger klog.Logger, m *Metrics) *Clients {
	return &Clients{
		limits: l.complete(), logger: logger, metrics: m, log: rate.NewLimiter(rate.Every(logEvery), logBurst),
		named: map[uint32]*Client{}, clients: map[*Client]struct{}{},
	}
}

// MayLog reports whether a line about the client's calls may be written, and how many were left out since the last one.
func (c *Client) MayLog() (ok bool, leftOut int) {
	cs := c.clients
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if !c.log.Allow() || !cs.log.Allow() {
		c.notLogged++
		return false, 0
	}
	leftOut, c.notLogged = c.notLogged, 0
	return true, leftOut
}

// register registers a new connection; it returns nil after Close.
func (cs *Clients) register(accepted net.Conn) *Conn {
	process := transport.ProcessOf(accepted)
	cs.mu.Lock()
	if cs.closed {
		cs.mu.Unlock()
		if process != nil {
			_ = process.Close()
		}
		return nil
	}
	client := cs.clientLocked(transport.PeerOf(accepted), process)
	c := &Conn{Conn: accepted, client: client, lastRead: time.Now()}
	client.conns = append(client.conns, c)
	cs.conns++
	cs.metrics.connections.Inc()
	victim := cs.overLimitLocked(client)
	cs.mu.Unlock()
	if victim != nil {
		cs.metrics.dropped.Inc()
		if ok, leftOut := victim.client.MayLog(); ok {
			cs.logger.Info("dropped a connection: too many are open", "client", victim.client.peer.String(),
				"limit", cs.limits.ClientConnections, "limitOfAll", cs.limits.Connections, "linesLeftOut", leftOut)
		}
		_ = victim.Close()
	}
	return c
}

// clientLocked returns the client of a peer, and takes the hold on its process; without one, the number identifies it.
func (cs *Clients) clientLocked(peer transport.Peer, process transport.Process) *Client {
	known := cs.named[peer.PID]
	if known != nil && (known.process == nil || !known.process.Ended()) {
		if process != nil {
			_ = process.Close()
		}
		return known
	}
	c := &Client{
		clients: cs, peer: peer, process: process, slots: map[*Slot]struct{}{},
		log: rate.NewLimiter(rate.Every(clientLogEvery), clientLogBurst),
	}
	cs.clients[c] = struct{}{}
	if peer.PID != 0 {
		cs.named[peer.PID] = c
	}
	return c
}

// overLimitLocked returns the connection that is to be closed because there are too many, nil if there are not.
func (cs *Clients) overLimitLocked(newcomer *Client) *Conn {
	switch {
	case len(newcomer.conns) > cs.limits.ClientConnections:
		return newcomer.longestIdleLocked()
	case cs.conns <= cs.limits.Connections:
		return nil
	}
	largest := newcomer
	for c := range cs.clients {
		if len(c.conns) > len(largest.conns) {
			largest = c
		}
	}
	return largest.longestIdleLocked()
}

// longestIdleLocked returns the client's idle connection that sent nothing for longest; the newest if none is idle.
func (c *Client) longestIdleLocked() *Conn {
	var idle *Conn
	for _, conn := range c.conns { // the oldest first, where a coarse clock gives several the same time
		if conn.calls == 0 && (idle == nil || conn.lastRead.Before(idle.lastRead)) {
			idle = conn
		}
	}
	if idle == nil {
		idle = c.conns[len(c.conns)-1]
	}
	return idle
}

// forgetLocked removes a client that has nothing open and nothing running.
func (c *Client) forgetLocked() {
	if len(c.conns)+c.calls+len(c.slots)+c.waiters > 0 {
		return
	}
	cs := c.clients
	delete(cs.clients, c)
	if cs.named[c.peer.PID] == c {
		delete(cs.named, c.peer.PID)
	}
	if c.process != nil {
		_ = c.process.Close()
		c.process = nil
	}
}

// Close admits no more connections and drops those on which nothing ever arrived: some clients probe an endpoint and
// neither send nor close, and a stopping gRPC server waits for the first bytes of each.
func (cs *Clients) Close() {
	cs.mu.Lock()
	cs.closed = true
	cs.mu.Unlock()
	cs.drop(func(c *Conn) bool { return !c.spoke })
}

// DropAll closes all connections.
func (cs *Clients) DropAll() { cs.drop(func(*Conn) bool { return true }) }

func (cs *Clients) drop(match func(*Conn) bool) {
	cs.mu.Lock()
	var drop []*Conn
	for c := range cs.clients {
		for _, conn := range c.conns {
			if match(conn) {
				drop = append(drop, conn)
			}
		}
	}
	cs.mu.Unlock()
	for _, conn := range drop {
		_ = conn.Close()
	}
}

// removeLocked removes a closed connection; later calls do nothing.
func (c *Client) removeLocked(conn *Conn) {
	i := slices.Index(c.conns, conn)
	if i < 0 {
		return
	}
	c.conns = slices.Delete(c.conns, i, i+1)
	c.clients.conns--
	c.clients.metrics.connections.Dec()
	c.forgetLocked()
}
