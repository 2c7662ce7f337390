// SPDX-License-Identifier: Apache-2.0

package node

import (
	"slices"
	"sync"
	"time"
)

// Operation is work on the node that has not ended. It may go on although its callers have given up: that is how a
// kernel call that hangs shows.
type Operation struct {
	Name    string        // what it does, and on what: "MountVolume(…)"
	Age     time.Duration // since it was asked for
	Waiting bool          // for its locks: it has not begun
}

// Operations lists what is under way, the oldest first.
func (n *Node) Operations() []Operation { return n.calls.underway.list() }

// underway is the register of the operations that have not ended. They are linked, not kept in a map, as there are many
// that are short and the register is seldom read.
type underway struct {
	mu    sync.Mutex
	first *entry
	late  int // reads in it whose callers gave up
}

// entry is one operation in the register.
type entry struct {
	what           string
	since          time.Time
	begun          bool
	over           bool      // no longer in the register
	left           time.Time // when a read's caller gave up; zero: it waits
	previous, next *entry
}

func (u *underway) add(e *entry, what string) {
	e.what, e.since = what, time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	e.next = u.first
	if e.next != nil {
		e.next.previous = e
	}
	u.first = e
}

func (u *underway) begin(e *entry) {
	u.mu.Lock()
	defer u.mu.Unlock()
	e.begun = true
}

func (u *underway) remove(e *entry) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if e.previous != nil {
		e.previous.next = e.next
	} else {
		u.first = e.next
	}
	if e.next != nil {
		e.next.previous = e.previous
	}
	e.previous, e.next, e.over = nil, nil, true
	if !e.left.IsZero() {
		u.late--
	}
}

func (u *underway) list() []Operation {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []Operation
	for e := u.first; e != nil; e = e.next {
		all = append(all, Operation{Name: e.what, Age: time.Since(e.since), Waiting: !e.begun})
	}
	slices.Reverse(all)
	return all
}
