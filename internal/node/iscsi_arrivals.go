// SPDX-License-Identifier: Apache-2.0

package node

import (
	"sync"
	"time"
)

// arrivalTime is how long callers wait for the disks of a login.
const arrivalTime = 10 * time.Second

// logins remembers when this agent logged in to iSCSI targets, while their disks may still arrive.
type logins struct {
	mu    sync.Mutex
	since map[targetName]time.Time
}

// expectDisks notes that the disks of a target may arrive from now on.
func (l *logins) expectDisks(name targetName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetOldLocked()
	if l.since == nil {
		l.since = map[targetName]time.Time{}
	}
	l.since[name] = time.Now()
}

func (l *logins) forget(name targetName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.since, name)
}

// disksUntil returns the time until which the disks of a target may still arrive, long past if there was no recent
// login.
func (l *logins) disksUntil(name targetName) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetOldLocked()
	since, ok := l.since[name]
	if !ok {
		return time.Time{}
	}
	return since.Add(arrivalTime)
}

// forgetOldLocked forgets logins whose disks are no longer awaited; mu is held.
func (l *logins) forgetOldLocked() {
	for name, since := range l.since {
		if time.Since(since) > arrivalTime {
			delete(l.since, name)
		}
	}
}
