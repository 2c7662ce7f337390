// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"sync"
	"time"
)

// How many log lines the calls of one client, and of all clients, may cause: a burst, and one per interval in the long run.
// A driver's failures stay below it; a client that fails on purpose cannot fill the log, nor can many together.
const (
	clientBurst = 200
	clientEvery = 100 * time.Millisecond
	allBurst    = 1000
	allEvery    = 20 * time.Millisecond
)

// allowance is the number of lines that may still be written.
type allowance struct {
	burst int
	every time.Duration

	mu      sync.Mutex
	full    time.Time // when the burst is restored in full; in the past: it is now
	leftOut int
}

// take reports whether a line may be written, and how many were left out since the last one.
func (a *allowance) take() (ok bool, leftOut int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if a.full.Before(now) {
		a.full = now
	}
	if a.full.Sub(now) > time.Duration(a.burst-1)*a.every {
		a.leftOut++
		return false, 0
	}
	a.full = a.full.Add(a.every)
	leftOut, a.leftOut = a.leftOut, 0
	return true, leftOut
}

// leaveOut counts lines that were not written for another reason.
func (a *allowance) leaveOut(lines int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.leftOut += lines
}

// restored returns how long it takes until the burst is restored.
func (a *allowance) restored() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Until(a.full)
}
