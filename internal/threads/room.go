// SPDX-License-Identifier: Apache-2.0

package threads

import (
	"slices"
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
	parties    map[name]*party
	late       int    // calls
	turns      uint64 // so far
}

// facility is the calls to one part of the system.
type facility struct {
	places           int
	running, waiting []*Call // those that have places; both the oldest first
	watched          bool    // a timer runs, see watch
}

// party is a client, or an object of a facility, as long as it has calls.
type party struct {
	calls         int // of all kinds
	running, late int
	reads         int    // of those that run
	lateReads     int    // of those that are late
	turn          uint64 // its last one
}

// name identifies a party: either the client or the others are set.
type name struct {
	client   any
	facility int
	object   string
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
	Want
	room           *Room
	client, object *party
	came           chan struct{} // closed when a waiting call gets its place
	since          time.Time
	late           bool
}

// New returns a room with so many places for each facility.
func New(places ...int) *Room {
	r := &Room{parties: map[name]*party{}}
	for _, n := range places {
		r.facilities = append(r.facilities, facility{places: n})
	}
	return r
}

// Enter waits until a call may begin. It returns nil if gone is closed before. A nil gone is never closed.
func (r *Room) Enter(gone <-chan struct{}, w Want) *Call {
	f := &r.facilities[w.Facility]
	r.mu.Lock()
	c := &Call{Want: w, room: r, client: r.party(name{client: w.Client}), object: r.party(name{facility: w.Facility, object: w.Object})}
	r.moveOut(f)
	if len(f.waiting) == 0 && r.mayBegin(f, c) {
		r.begin(f, c)
		r.mu.Unlock()
		return c
	}
	c.came = make(chan struct{})
	f.waiting = append(f.waiting, c)
	r.advance(f)
	r.mu.Unlock()
	select {
	case <-c.came:
		return c
	case <-gone:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !drop(&f.waiting, c) {
		return c // its turn came at the last moment
	}
	r.forget(c)
	return nil
}

// Leave ends the call.
func (c *Call) Leave() {
	r := c.room
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(c)
	if !c.late {
		f := &r.facilities[c.Facility]
		r.end(f, c)
		r.advance(f)
		return
	}
	c.client.countLate(c, -1)
	c.object.countLate(c, -1)
	r.late--
	for i := range r.facilities { // its client may have been held back anywhere
		r.advance(&r.facilities[i])
	}
}

// Hangs reports whether a call that asks the object is late. Where none waits for a place that may not be known yet.
func (r *Room) Hangs(object string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.facilities {
		if p := r.parties[name{facility: i, object: object}]; p != nil && p.late > 0 {
			return true
		}
	}
	return false
}

// party returns the party of a name, with one more call.
func (r *Room) party(n name) *party {
	p := r.parties[n]
	if p == nil {
		p = &party{}
		r.parties[n] = p
	}
	p.calls++
	return p
}

// forget takes a call from its parties, which are forgotten with their last one.
func (r *Room) forget(c *Call) {
	if c.client.calls--; c.client.calls == 0 {
		delete(r.parties, name{client: c.Client})
	}
	if c.object.calls--; c.object.calls == 0 {
		delete(r.parties, name{facility: c.Facility, object: c.Object})
	}
}

// mayBegin reports whether a call may begin now. An object may have half of the places, but two in any case, and as many late
// calls until reads of it are held back.
func (r *Room) mayBegin(f *facility, c *Call) bool {
	mostOfOne := max(2, f.places/2)
	switch {
	case len(f.running) >= f.places:
		return false
	case c.Close:
		return true
	case c.object.running >= mostOfOne:
		return false
	case !c.Read:
		return true
	}
	return c.object.late < mostOfOne && (!c.First || c.client.lateReads+c.client.reads < r.share())
}

// share returns how many reads of a client may be late, or become so, until its reads are held back: a quarter of the calls that may
// still become late, so that each further client finds some, and one in any case. Changes do not count: their client would wait for
// its own reads while it stages many volumes.
func (r *Room) share() int { return max(1, (lateMost-r.late)/4) }

// begin gives a call a place.
func (r *Room) begin(f *facility, c *Call) {
	r.turns++
	for _, p := range [...]*party{c.client, c.object} {
		p.count(c, 1)
		p.turn = r.turns
	}
	c.since = time.Now()
	f.running = append(f.running, c)
}

// end takes the place of a call.
func (r *Room) end(f *facility, c *Call) {
	drop(&f.running, c)
	c.client.count(c, -1)
	c.object.count(c, -1)
}

// count notes that one of the party's calls runs, with 1, or does not any more, with -1.
func (p *party) count(c *Call, n int) {
	p.running += n
	if c.Read {
		p.reads += n
	}
}

// countLate notes that one of the party's calls is late, with 1, or not any more, with -1.
func (p *party) countLate(c *Call, n int) {
	p.late += n
	if c.Read {
		p.lateReads += n
	}
}

// drop removes a call from a list, and reports whether it was there.
func drop(from *[]*Call, c *Call) bool {
	i := slices.Index(*from, c)
	if i >= 0 {
		*from = slices.Delete(*from, i, i+1)
	}
	return i >= 0
}

// moveOut takes their places from calls that have become late.
func (r *Room) moveOut(f *facility) {
	for len(f.running) > 0 && time.Since(f.running[0].since) >= LateAfter {
		c := f.running[0]
		r.end(f, c)
		c.late = true
		c.client.countLate(c, 1)
		c.object.countLate(c, 1)
		r.late++
	}
}

// advance lets calls in that wait. As long as others do, it looks again when the first of those that run becomes late.
func (r *Room) advance(f *facility) {
	for c := r.next(f); c != nil; c = r.next(f) {
		drop(&f.waiting, c)
		r.begin(f, c)
		close(c.came)
	}
	if f.watched || len(f.waiting) == 0 || len(f.running) == 0 {
		return
	}
	f.watched = true
	time.AfterFunc(LateAfter-time.Since(f.running[0].since), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		f.watched = false
		r.moveOut(f)
		r.advance(f)
	})
}

// next returns the waiting call that begins next, nil if none may.
func (r *Room) next(f *facility) (next *Call) {
	for _, c := range f.waiting {
		if len(f.running) >= f.places {
			return nil
		}
		if r.mayBegin(f, c) && (next == nil || c.before(next)) {
			next = c
		}
	}
	return next
}

// before reports whether it is a call's turn before that of another, which came earlier.
func (c *Call) before(d *Call) bool {
	switch {
	case c.Close != d.Close:
		return c.Close
	case c.client.turn != d.client.turn:
		return c.client.turn < d.client.turn
	}
	return c.object.turn < d.object.turn
}

// Counts returns how many calls wait for a place, and how many are late.
func (r *Room) Counts() (waiting, late int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.facilities {
		f := &r.facilities[i]
		r.moveOut(f)
		r.advance(f)
		waiting += len(f.waiting)
	}
	return waiting, r.late
}
