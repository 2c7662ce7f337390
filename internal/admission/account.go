// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"math"
	"slices"
	"time"
)

// A tally is how much somebody has: a process, a container, all of them.
type tally struct {
	conns   int
	streams int // see OpenStream
	running int // calls
	unread  int // see wire
	held    int // bytes, for open streams
}

func (t *tally) add(other tally) {
	t.conns += other.conns
	t.streams += other.streams
	t.running += other.running
	t.unread += other.unread
	t.held += other.held
}

// An account is what one process has; or what all processes of a container, or of none, had together when they ended. A
// process ends, and its operations on the node go on; its connections live on if it handed them to another.
type account struct {
	tally
	container string // "": not known
	number    uint64 // of the process, in the order of their coming
	ended     bool
	open      []*Conn // the oldest first
	waiting   []*turn
}

// A container is what the processes of one have together, and the line in which they wait to be read.
type container struct {
	tally
	line line
}

// ofEnded returns the account of a container's processes that have ended.
func (cs *Clients) ofEnded(container string) *account {
	a := cs.ended[container]
	if a == nil {
		a = &account{container: container, number: math.MaxUint64, ended: true}
		cs.ended[container] = a
	}
	return a
}

// count changes what a client has, and with it what its container and all have.
func (c *Client) count(change func(*tally)) {
	cs, a := c.all, c.account
	change(&cs.tally)
	change(&a.tally)
	if a.container != "" {
		all := cs.containers[a.container]
		if all == nil {
			all = &container{line: cs.brake.newLine()}
			cs.containers[a.container] = all
		}
		if change(&all.tally); all.tally == (tally{}) {
			delete(cs.containers, a.container)
		}
	}
	cs.tidy(a)
}

// tidy forgets an account of processes that have ended when nothing is left of them.
func (cs *Clients) tidy(a *account) {
	if cs.ended[a.container] == a && a.tally == (tally{}) && len(a.waiting) == 0 {
		delete(cs.ended, a.container)
	}
}

// bury moves what a process has to the account of those that have ended, if it has ended, which it reports. It is asked
// when something becomes scarce or a number comes again; nothing watches processes.
func (c *Client) bury() bool {
	cs, a := c.all, c.account
	if a.ended {
		return true
	}
	if c.process == nil || !c.process.Ended() {
		return false
	}
	c.release()
	if cs.known[c.peer.PID] == c {
		delete(cs.known, c.peer.PID)
	}
	to := cs.ofEnded(a.container)
	to.add(a.tally)
	to.open = append(to.open, a.open...)
	if len(a.waiting) > 0 {
		cs.lines = slices.DeleteFunc(cs.lines, func(line *account) bool { return line == a })
		if len(to.waiting) == 0 {
			cs.lines = append(cs.lines, to)
		}
		to.waiting = append(to.waiting, a.waiting...)
	}
	c.account = to
	cs.tidy(to)
	return true
}

// recently is how long what the system said of processes is believed when something is scarce. To ask it takes a system call
// for each, and everybody waits meanwhile.
const recently = 50 * time.Millisecond

// buryAll buries every process that has ended, but for those that ended just now. Who asks for something buries itself besides, or
// what a process has handed over would have a process's share of it for that moment.
func (cs *Clients) buryAll() {
	if time.Since(cs.asked) < recently {
		return
	}
	cs.asked = time.Now()
	for _, c := range cs.known {
		c.bury()
	}
}

// release lets go of the process.
func (c *Client) release() {
	if c.process != nil {
		_ = c.process.Close()
		c.process = nil
	}
}

// heaviest returns the account that has most of something: in the container that has most of it, of containers, of
// processes of which no container is known, and of those of them that have ended. It is the newcomer's, or one in its
// container, unless others have more.
func (cs *Clients) heaviest(newcomer *account, of func(*tally) int) *account {
	most := newcomer
	consider := func(a *account) {
		all, mostOfAll := cs.together(a), cs.together(most)
		if of(all) > of(mostOfAll) || all == mostOfAll && of(&a.tally) > of(&most.tally) {
			most = a
		}
	}
	for _, c := range cs.known {
		consider(c.account)
	}
	for _, a := range cs.ended {
		consider(a)
	}
	return most
}

// together returns what an account's container has, the account itself if none is known.
func (cs *Clients) together(a *account) *tally {
	if all := cs.containers[a.container]; all != nil {
		return &all.tally
	}
	return &a.tally
}

// settling is how long a new connection may say nothing before it counts as one that nobody uses.
const settling = time.Second

// leastMissed returns the connection whose loss costs least: the oldest one on which nothing ever arrived, as drivers' probes
// leave them behind; otherwise, of those without calls, the one that has said nothing for longest; otherwise the newest.
func (a *account) leastMissed() *Conn {
	var silent, idle *Conn
	for _, c := range a.open {
		switch {
		case c.wire.busy():
		case c.silent() && time.Since(c.heard) >= settling:
			if silent == nil {
				silent = c
			}
		case idle == nil || c.heard.Before(idle.heard):
			idle = c
		}
	}
	switch {
	case silent != nil:
		return silent
	case idle != nil:
		return idle
	default:
		return a.open[len(a.open)-1]
	}
}

// fullest returns the connection that holds most.
func (a *account) fullest() *Conn {
	return slices.MaxFunc(a.open, func(x, y *Conn) int { return x.wire.held - y.wire.held })
}
