// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"sync"
	"time"
)

// How many log lines the calls of one client may cause: a burst, and a number per second in the long run. A driver's
// failures stay below it; a client that fails on purpose cannot fill the log.
const (
	lineBurst = 200
	lineEvery = 100 * time.Millisecond
)

// allowance is the number of lines that a client may still cause.
type allowance struct {
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
	if a.full.Sub(now) > (lineBurst-1)*lineEvery {
		a.leftOut++
		return false, 0
	}
	a.full = a.full.Add(lineEvery)
	leftOut, a.leftOut = a.leftOut, 0
	return true, leftOut
}
