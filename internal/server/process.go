// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/klog/v2"
)

// clients are the processes that have connections to the endpoints of one Server, or calls that run on it.
type clients struct {
	limits  Limits
	logger  klog.Logger
	metrics *Metrics

	mu      sync.Mutex
	known   map[uint32]*process // by number
	conns   int
	streams int
	queue   queue
}

func newClients(l Limits, logger klog.Logger, m *Metrics) *clients {
	if m == nil {
		m = NewMetrics() // which nobody collects
	}
	return &clients{limits: l, logger: logger, metrics: m, known: map[uint32]*process{}}
}

// process is one client: what it has open, and what it has running.
type process struct {
	name    string // as log lines have it
	number  uint32 // in clients.known; 0 when the transport cannot tell it
	conns   []*conn
	streams int       // see openStream
	lines   allowance // of the log

	turns turns
}

// admit takes a new connection into the books. When that is one too many, a connection of the client that has most is
// dropped: its oldest one on which nothing ever came, as drivers' probes leave them behind, otherwise its newest. So
// a client can push out nobody who has fewer connections than it has itself.
func (cs *clients) admit(c *conn) {
	cs.mu.Lock()
	p := cs.of(c.addr)
	c.process = p
	p.conns = append(p.conns, c)
	cs.conns++
	cs.metrics.connections.Inc()
	var victim *conn
	switch {
	case len(p.conns) > cs.limits.ClientConnections:
		victim = p.leastMissed()
	case cs.conns > cs.limits.Connections:
		victim = cs.heaviest(p).leastMissed()
	}
	cs.mu.Unlock()
	if victim == nil {
		return
	}
	cs.metrics.dropped.Inc()
	if told, untold := victim.process.lines.take(); told {
		cs.logger.Info("dropped a connection: too many are open", "client", victim.process.name, "limit", cs.limits.ClientConnections,
			"limitOfAll", cs.limits.Connections, "linesLeftOut", untold)
	}
	_ = victim.Close()
}

// of is the process behind an address. Where the system does not tell, every connection is a client of its own.
func (cs *clients) of(addr net.Addr) *process {
	p := &process{name: addr.String(), number: processNumber(addr)}
	if p.number == 0 {
		return p
	}
	if known := cs.known[p.number]; known != nil {
		return known
	}
	cs.known[p.number] = p
	return p
}

// processNumber is the number in an address such as "pid 123 uid 0" or "pid 123 C:\driver.exe", 0 when there is none. What
// stands behind it is for people: it need not be the same, nor readable, each time that the process connects. Linux has
// the number 0 for a process that it does not show to the agent.
func processNumber(addr net.Addr) uint32 {
	text, ok := strings.CutPrefix(addr.String(), "pid ")
	if !ok || addr.Network() != "process" {
		return 0
	}
	text, _, _ = strings.Cut(text, " ")
	number, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0
	}
	return uint32(number)
}

// heaviest is the process with the most connections; of several, the newcomer if it is one.
func (cs *clients) heaviest(newcomer *process) *process {
	most := newcomer
	for _, p := range cs.known {
		if len(p.conns) > len(most.conns) {
			most = p
		}
	}
	return most
}

// leastMissed is the connection whose loss costs a process least.
func (p *process) leastMissed() *conn {
	if i := slices.IndexFunc(p.conns, func(c *conn) bool { return !c.spoke.Load() }); i >= 0 {
		return p.conns[i]
	}
	return p.conns[len(p.conns)-1]
}

// leave takes a closed connection out of the books; later calls do nothing.
func (cs *clients) leave(c *conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	p := c.process
	i := slices.Index(p.conns, c)
	if i < 0 {
		return
	}
	p.conns = slices.Delete(p.conns, i, i+1)
	cs.conns--
	cs.metrics.connections.Dec()
	cs.forget(p)
}

// forget ends the books of a process that has nothing open and nothing running. One that has closed its connections
// stays in them until its streams and its operations on the node are over: it may come back for more.
func (cs *clients) forget(p *process) {
	if len(p.conns) == 0 && p.streams == 0 && p.turns.running == 0 && cs.known[p.number] == p {
		delete(cs.known, p.number)
	}
}

// count is how many connections are open.
func (cs *clients) count() int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.conns
}
