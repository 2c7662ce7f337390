// SPDX-License-Identifier: Apache-2.0

package threads

import (
	"sync"
	"time"
)

// LateAfter is how long a call keeps its place. One that takes longer is late: it gives its place to the next call and goes
// on without one. So whatever hangs, all places come free within that time.
const LateAfter = time.Second

// lateMost is how many late calls there may be before reads of those clients are held back that have none yet.
const lateMost = 256

// A Room has a number of places for the calls to each facility of the system. Calls that find none wait: the clients take
// turns, then a client's objects, and calls about one object begin in the order in which they came.
type Room struct {
	mu         sync.Mutex
	facilities []facility
	late       map[any]int // late calls of each client, in all facilities
	lateAll    int
}

// A Want is what a call is about.
type Want struct {
	Facility int    // from 0, in the order of New
	Client   any    // equal for all calls of one client, and for no others
	Object   string // what may hang
	Read     bool   // its operation holds no locks, so it may be held back because of late calls
	First    bool   // its operation has had no place before
	Close    bool   // it closes what is open: it goes before all others, and nothing holds it back
}

// A Call has a place, or had one until it was late.
type Call struct {
	want  Want
	room  *Room
	came  chan struct{} // closed when a waiting call gets its place
	since time.Time
	late  bool
}

// New returns a room with so many places for each facility.
func New(places ...int) *Room {
	r := &Room{facilities: make([]facility, len(places)), late: map[any]int{}}
	for i, n := range places {
		r.facilities[i] = facility{places: n, late: map[string]int{}}
	}
	return r
}

// Enter waits until a call may begin. It returns nil if gone is closed before. A nil gone is never closed.
func (r *Room) Enter(gone <-chan struct{}, w Want) *Call {
	c := &Call{want: w, room: r}
	f := &r.facilities[w.Facility]
	r.mu.Lock()
	r.moveOut(f)
	if f.waiting == 0 && r.mayEnter(f, w) {
		f.begin(c)
		r.mu.Unlock()
		return c
	}
	c.came = make(chan struct{})
	f.enqueue(c)
	r.advance(f)
	r.watch(f)
	r.mu.Unlock()
	select {
	case <-c.came:
		return c
	case <-gone:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.withdraw(c) {
		return nil
	}
	return c // its turn came at the last moment
}

// Leave ends the call.
func (c *Call) Leave() {
	r, f := c.room, &c.room.facilities[c.want.Facility]
	r.mu.Lock()
	defer r.mu.Unlock()
	if !c.late {
		f.end(c)
		r.advance(f)
		return
	}
	less(f.late, c.want.Object)
	less(r.late, c.want.Client)
	r.lateAll--
	for i := range r.facilities { // the client may have been held back anywhere
		r.advance(&r.facilities[i])
	}
}

func less[K comparable](counts map[K]int, key K) {
	if counts[key]--; counts[key] == 0 {
		delete(counts, key)
	}
}

// mayEnter reports whether a call may begin now.
func (r *Room) mayEnter(f *facility, w Want) bool {
	switch {
	case len(f.running) >= f.places:
		return false
	case w.Close:
		return true
	case f.runningAt(w.Object) >= f.mostOfOne():
		return false
	case !w.Read:
		return true
	}
	return f.late[w.Object] < f.mostOfOne() && (!w.First || r.late[w.Client]+f.runningOf(w.Client) < r.share())
}

// share returns how many calls of a client may be late, or become so, until its reads are held back: a quarter of those that
// are still free, so that each further client finds some, and one in any case.
func (r *Room) share() int { return max(1, (lateMost-r.lateAll)/4) }

// moveOut takes their places from calls that have become late.
func (r *Room) moveOut(f *facility) {
	if len(f.running) == 0 {
		return
	}
	now, moved := time.Now(), false
	for len(f.running) > 0 && now.Sub(f.running[0].since) >= LateAfter {
		c := f.running[0]
		f.end(c)
		c.late, moved = true, true
		f.late[c.want.Object]++
		r.late[c.want.Client]++
		r.lateAll++
	}
	if moved {
		r.advance(f)
	}
}

// advance lets calls in that wait.
func (r *Room) advance(f *facility) {
	for f.waiting > 0 && len(f.running) < f.places {
		c := f.next(func(w Want) bool { return r.mayEnter(f, w) })
		if c == nil {
			return
		}
		f.begin(c)
		close(c.came)
	}
}

// watch looks at a facility again when the first of its calls becomes late, as long as others wait.
func (r *Room) watch(f *facility) {
	if f.watched || f.waiting == 0 || len(f.running) == 0 {
		return
	}
	f.watched = true
	time.AfterFunc(time.Until(f.running[0].since.Add(LateAfter)), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		f.watched = false
		r.moveOut(f)
		r.watch(f)
	})
}

// A Count is how many calls to a facility there are.
type Count struct{ Running, Waiting, Late int }

// Counts returns how many calls there are, by facility.
func (r *Room) Counts() []Count {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := make([]Count, len(r.facilities))
	for i := range r.facilities {
		f := &r.facilities[i]
		r.moveOut(f)
		counts[i] = Count{Running: len(f.running), Waiting: f.waiting}
		for _, n := range f.late {
			counts[i].Late += n
		}
	}
	return counts
}
