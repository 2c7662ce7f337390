// SPDX-License-Identifier: Apache-2.0

package node

import "time"

// Reads that hang in Windows go on when their callers have given up, each on a goroutine and, on Windows, a thread of
// its own. Whoever asks the same again would only add one.
const (
	lateAfter = 2 * time.Second // after its caller gave up, a read counts as hanging
	lateMost  = 2               // so many of the same may hang
)

// leave notes that a read's caller gave up.
func (u *underway) leave(e *entry) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !e.over {
		e.left = time.Now()
		u.late++
	}
}

// check refuses a read when as many of the same hang as may.
func (u *underway) check(what string) error {
	hanging, oldest := u.hanging(what)
	if hanging < lateMost {
		return nil
	}
	return errorf(Unavailable, ReasonStillRunning,
		"%s: %d calls like this one hang in Windows, the first for %v; no more are begun until one of them ends. "+
			"The disk, volume or server behind it does not answer", what, hanging, oldest.Round(time.Second))
}

// hanging is how many of the same reads hang, and for how long the oldest has been running.
func (u *underway) hanging(what string) (n int, oldest time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.late == 0 {
		return 0, 0 // as most of the time
	}
	for e := u.first; e != nil; e = e.next {
		if e.what == what && !e.left.IsZero() && time.Since(e.left) >= lateAfter {
			n, oldest = n+1, max(oldest, time.Since(e.since))
		}
	}
	return n, oldest
}
