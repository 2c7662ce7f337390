// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"runtime"
	"time"
)

// A call costs a goroutine until its handler has returned, also when its connection is gone. A client that sends calls,
// loses the connection because they hold too much, and comes back, leaves more of them behind than the machine ends in that
// time, and they count for nobody. So when there are very many, those clients are not read that have many calls open; each
// connection of theirs goes on when there are fewer. Others are read as always.

// connGoroutines is how many goroutines gRPC has for a connection by itself.
const connGoroutines = 3

// lightBytes is what a client's open streams may hold without being braked: those of 32 calls, as a driver has them at most
// when a node drains.
const lightBytes = 32 * streamBytes

// The pauses between two looks.
const (
	shortestBrake = time.Millisecond
	longestBrake  = 16 * time.Millisecond
)

// brake waits while there are too many goroutines and the client has many calls open.
func (c *Conn) brake() {
	for pause := shortestBrake; c.mustWait(); pause = min(2*pause, longestBrake) {
		time.Sleep(pause)
	}
}

func (c *Conn) mustWait() bool {
	cs := c.client.all
	goroutines := runtime.NumGoroutine()
	if goroutines <= cs.limits.Handlers {
		return false // most of the time; without the lock
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	_, open := cs.conns[c]
	return open && c.client.account.held > lightBytes && goroutines-connGoroutines*len(cs.conns) > cs.limits.Handlers
}
