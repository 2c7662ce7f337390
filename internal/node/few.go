// SPDX-License-Identifier: Apache-2.0

package node

import (
	"slices"
	"sync"
	"time"
)

// hungTime is how long a call that is usually over in a second runs until it counts as one that hangs.
const hungTime = 10 * time.Second

// few lets a few calls at a time into a part of Windows where each keeps a thread until some other machine or device has
// answered. A call waits its turn while others come out; when those that are in the way hang, it is refused at once. The
// zero value is ready for use.
type few struct {
	mu      sync.Mutex
	running []*runningCall
	left    chan struct{} // closed when a call leaves; nil: nobody waits
}

type runningCall struct {
	since time.Time
	of    []quota
}

// quota is how many calls may run that belong to something: to one server, to one client, to all of them.
type quota struct {
	to   any // a value that is equal for all calls that belong together, and for no others
	most int
}

// enter returns how a call leaves again, or the quota that is full of calls that hang.
func (f *few) enter(of ...quota) (leave func(), full *quota) {
	for {
		f.mu.Lock()
		full, wait := f.room(of)
		if full == nil {
			call := &runningCall{time.Now(), of}
			f.running = append(f.running, call)
			f.mu.Unlock()
			return func() { f.leave(call) }, nil
		}
		if wait <= 0 {
			f.mu.Unlock()
			return nil, full
		}
		if f.left == nil {
			f.left = make(chan struct{})
		}
		left := f.left
		f.mu.Unlock()
		timer := time.NewTimer(wait)
		select {
		case <-left:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// room returns the first quota that is full, nil if there is none, and how long until all calls that fill it hang.
func (f *few) room(of []quota) (full *quota, wait time.Duration) {
	for _, q := range of {
		count, youngest := 0, time.Time{}
		for _, call := range f.running {
			if slices.ContainsFunc(call.of, func(other quota) bool { return other.to == q.to }) {
				count++
				if call.since.After(youngest) {
					youngest = call.since
				}
			}
		}
		if count >= q.most {
			return &q, hungTime - time.Since(youngest)
		}
	}
	return nil, 0
}

func (f *few) leave(call *runningCall) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running = slices.DeleteFunc(f.running, func(other *runningCall) bool { return other == call })
	if f.left != nil {
		close(f.left)
		f.left = nil
	}
}
