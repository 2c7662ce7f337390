// SPDX-License-Identifier: Apache-2.0

package threads

import (
	"slices"
	"time"
)

// facility is the calls to one part of the system. Room.mu guards it.
type facility struct {
	places  int
	running []*Call        // that have places, the oldest first
	late    map[string]int // late calls about each object
	closing []*Call        // that wait, before all others
	queues  []*queue       // of the clients with waiting calls, the next one first
	waiting int            // calls
	watched bool           // a timer runs, see Room.watch
}

// queue is the waiting calls of a client.
type queue struct {
	client any
	lines  []*line // of its objects, the next one first
}

// line is the waiting calls of a client about an object, the oldest first.
type line struct {
	object string
	calls  []*Call
}

// mostOfOne is how many places the calls about one object may have, and how many of them may be late before reads of it are
// held back: half of the places, but two in any case.
func (f *facility) mostOfOne() int { return max(2, f.places/2) }

func (f *facility) runningAt(object string) (n int) {
	for _, c := range f.running {
		if c.want.Object == object && !c.want.Close {
			n++
		}
	}
	return n
}

func (f *facility) runningOf(client any) (n int) {
	for _, c := range f.running {
		if c.want.Client == client {
			n++
		}
	}
	return n
}

func (f *facility) begin(c *Call) {
	c.since = time.Now()
	f.running = append(f.running, c)
}

func (f *facility) end(c *Call) {
	if i := slices.Index(f.running, c); i >= 0 {
		f.running = slices.Delete(f.running, i, i+1)
	}
}

func (f *facility) enqueue(c *Call) {
	f.waiting++
	if c.want.Close {
		f.closing = append(f.closing, c)
		return
	}
	i := slices.IndexFunc(f.queues, func(q *queue) bool { return q.client == c.want.Client })
	if i < 0 {
		i, f.queues = len(f.queues), append(f.queues, &queue{client: c.want.Client})
	}
	q := f.queues[i]
	j := slices.IndexFunc(q.lines, func(l *line) bool { return l.object == c.want.Object })
	if j < 0 {
		j, q.lines = len(q.lines), append(q.lines, &line{object: c.want.Object})
	}
	q.lines[j].calls = append(q.lines[j].calls, c)
}

// next takes the next call that may begin out of its line, and puts its client and its object behind the others.
func (f *facility) next(mayBegin func(Want) bool) *Call {
	if len(f.closing) > 0 {
		c := f.closing[0]
		f.closing = slices.Delete(f.closing, 0, 1)
		f.waiting--
		return c
	}
	for i, q := range f.queues {
		for j, l := range q.lines {
			// A change need not wait behind reads that are held back.
			k := slices.IndexFunc(l.calls, func(c *Call) bool { return mayBegin(c.want) })
			if k < 0 {
				continue
			}
			c := l.calls[k]
			f.remove(i, j, k)
			q.lines = last(q.lines, l)
			f.queues = last(f.queues, q)
			return c
		}
	}
	return nil
}

// last puts an element behind the others, if it is still there.
func last[T comparable](all []T, one T) []T {
	if i := slices.Index(all, one); i >= 0 {
		all = append(slices.Delete(all, i, i+1), one)
	}
	return all
}

// withdraw takes a waiting call out of its line. It reports false if the call has begun.
func (f *facility) withdraw(c *Call) bool {
	for i, q := range f.queues {
		for j, l := range q.lines {
			if k := slices.Index(l.calls, c); k >= 0 {
				f.remove(i, j, k)
				return true
			}
		}
	}
	return false
}

// remove takes a call out of its line, and lines and queues that are empty then.
func (f *facility) remove(i, j, k int) {
	q := f.queues[i]
	l := q.lines[j]
	f.waiting--
	if l.calls = slices.Delete(l.calls, k, k+1); len(l.calls) > 0 {
		return
	}
	if q.lines = slices.Delete(q.lines, j, j+1); len(q.lines) == 0 {
		f.queues = slices.Delete(f.queues, i, i+1)
	}
}
