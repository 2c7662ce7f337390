// SPDX-License-Identifier: Apache-2.0

package node

import (
	"sync"
	"time"
)

// crew is goroutines that run operations one after the other: a fresh goroutine's stack has to grow with each operation,
// which costs as much as a short one itself.
type crew struct {
	busy sync.WaitGroup // the operations that run
	idle chan operation // goroutines without an operation wait here for the next; nil ends them

	mu      sync.Mutex
	size    int  // goroutines that have not been dismissed
	watched bool // dismiss is going to be called
}

// operation is something that runs to its end.
type operation interface{ run() }

// operationFunc makes an operation of a function.
type operationFunc func()

func (f operationFunc) run() { f() }

func newCrew() crew { return crew{idle: make(chan operation)} }

// run runs an operation on a goroutine that has none, or on a new one, and returns at once.
func (c *crew) run(o operation) {
	c.busy.Add(1)
	select {
	case c.idle <- o:
		return
	default:
	}
	c.hire()
	go c.work(o)
}

func (c *crew) work(o operation) {
	for ; o != nil; o = <-c.idle {
		o.run()
		c.busy.Done()
	}
}

// idleTime is how often goroutines without an operation are let go. One timer for all of them: a timer of its own for
// each, started with every operation, would wake the scheduler every time.
const idleTime = time.Minute

func (c *crew) hire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size++
	if !c.watched {
		c.watched = true
		time.AfterFunc(idleTime, c.dismiss)
	}
}

// dismiss ends all goroutines that have nothing to do.
func (c *crew) dismiss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.size > 0 {
		select {
		case c.idle <- nil:
			c.size--
			continue
		default:
		}
		break
	}
	if c.watched = c.size > 0; c.watched {
		time.AfterFunc(idleTime, c.dismiss)
	}
}

// disband ends all goroutines when nothing runs any more, instead of in a minute. Whoever asks for another operation
// then gets new ones.
func (c *crew) disband() {
	c.busy.Wait()
	for c.dismissOne() {
		c.idle <- nil // one may be on its way here from its last operation
	}
}

// dismissOne takes one goroutine off the list, if there is any.
func (c *crew) dismissOne() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size == 0 {
		return false
	}
	c.size--
	return true
}
