// SPDX-License-Identifier: Apache-2.0

package threads

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const places = 16

// calls starts calls that last for a time, and returns how many run now and how many ran at most at a time.
func calls(r *Room, group *sync.WaitGroup, n int, lasts time.Duration, want func(i int) Want) (now, most *atomic.Int64) {
	now, most = &atomic.Int64{}, &atomic.Int64{}
	for i := range n {
		group.Go(func() {
			c := r.Enter(nil, want(i))
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(lasts)
			now.Add(-1)
			c.Leave()
		})
	}
	synctest.Wait()
	return now, most
}

func read(client, object string) Want { return Want{Client: client, Object: object, Read: true} }

func change(client, object string) Want { return Want{Client: client, Object: object} }

// has fails the test unless so many calls wait and are late.
func has(t *testing.T, r *Room, waiting, late int) {
	t.Helper()
	if w, l := r.Counts(); w != waiting || l != late {
		t.Errorf("%d calls wait and %d are late, want %d and %d", w, l, waiting, late)
	}
}

// empty fails the test unless nothing is left in the room.
func empty(t *testing.T, r *Room) {
	t.Helper()
	has(t, r, 0, 0)
	if len(r.parties) > 0 {
		t.Errorf("%d parties are left", len(r.parties))
	}
	for i, f := range r.facilities {
		if len(f.running) > 0 {
			t.Errorf("%d calls still run in facility %d", len(f.running), i)
		}
	}
}

func TestNoMoreThanThePlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(places, 4)
		var group sync.WaitGroup
		begin := time.Now()
		_, most := calls(r, &group, 256, 5*time.Millisecond, func(i int) Want { return read("client", fmt.Sprint(i)) })
		other, _ := calls(r, &group, 1, 0, func(int) Want { return Want{Facility: 1} })
		if other.Load() != 0 {
			t.Error("a call to another facility waits for these")
		}
		group.Wait()
		if most.Load() != places {
			t.Errorf("%d calls ran at a time, want %d", most.Load(), places)
		}
		if took, want := time.Since(begin), 256/places*5*time.Millisecond; took != want {
			t.Errorf("took %v, want %v", took, want)
		}
		empty(t, r)
	})
}

// What hangs gives up its place, so that the last of many objects that hang keep the next call waiting for no longer than
// one call may take.
func TestLateCallsMoveOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(places)
		var group sync.WaitGroup
		calls(r, &group, places, time.Hour, func(i int) Want { return read("a", fmt.Sprint(i)) })
		begin := time.Now()
		c := r.Enter(nil, read("b", "object"))
		if took := time.Since(begin); took != LateAfter {
			t.Errorf("a call beside those that hang waited %v, want %v", took, LateAfter)
		}
		has(t, r, 0, places)
		c.Leave()
		group.Wait()
		empty(t, r)
	})
}

// Calls about one object leave places to others, and when enough of them hang, no more reads of it begin. Changes do: they
// hold locks.
func TestWhatHangsIsOneObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(places)
		var group sync.WaitGroup
		calls(r, &group, 64, time.Hour, func(int) Want { return read("client", "dead") })
		begin := time.Now()
		for range 100 {
			r.Enter(nil, read("client", "other")).Leave()
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("another object waited %v", took)
		}
		time.Sleep(10 * LateAfter)
		has(t, r, 64-places/2, places/2)
		begin = time.Now()
		c := r.Enter(nil, change("client", "dead"))
		if took := time.Since(begin); took != 0 {
			t.Errorf("a change waited %v", took)
		}
		c.Leave()
		group.Wait()
		empty(t, r)
	})
}

// A client with many late calls begins no more reads; others do, and its own operations that have begun go on.
func TestAClientsLateCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(places)
		var group sync.WaitGroup
		first := func(client, object string) Want {
			w := read(client, object)
			w.First = true
			return w
		}
		calls(r, &group, 200, time.Hour, func(i int) Want { return first("hostile", fmt.Sprint(i)) })
		time.Sleep(time.Minute)
		if _, late := r.Counts(); late < lateMost/8 || late > lateMost/4 {
			t.Errorf("a client of which everything hangs has %d late calls", late)
		}
		begin := time.Now()
		for _, w := range []Want{first("driver", "x"), read("hostile", "x"), change("hostile", "x")} {
			r.Enter(nil, w).Leave()
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("others waited %v", took)
		}
		const children = 20 // that each leave behind what they may
		for i := range children {
			calls(r, &group, 16, time.Hour, func(j int) Want { return first(fmt.Sprint("child", i), fmt.Sprint(i, j)) })
			time.Sleep(4 * LateAfter)
		}
		if _, late := r.Counts(); late > lateMost+children {
			t.Errorf("%d calls are late", late)
		}
		begin = time.Now()
		r.Enter(nil, first("driver", "x")).Leave()
		if took := time.Since(begin); took > LateAfter {
			t.Errorf("a driver waited %v", took)
		}
		group.Wait()
		empty(t, r)
	})
}

// order returns in which order waiting calls begin, one after the other.
func order(t *testing.T, wants ...Want) (names []string) {
	synctest.Test(t, func(t *testing.T) {
		r := New(1)
		first := r.Enter(nil, Want{Client: "first"})
		var mu sync.Mutex
		var group sync.WaitGroup
		for i, w := range wants {
			group.Go(func() {
				c := r.Enter(nil, w)
				mu.Lock()
				names = append(names, fmt.Sprint(i))
				mu.Unlock()
				c.Leave()
			})
			synctest.Wait()
		}
		first.Leave()
		group.Wait()
		empty(t, r)
	})
	return names
}

func TestTurns(t *testing.T) {
	for name, c := range map[string]struct {
		wants []Want
		want  []string
	}{
		"one after the other":      {[]Want{read("a", "x"), read("a", "x"), change("a", "x")}, []string{"0", "1", "2"}},
		"clients take turns":       {[]Want{read("a", "x"), read("a", "y"), read("a", "z"), read("b", "x")}, []string{"0", "3", "1", "2"}},
		"a client's objects do":    {[]Want{read("a", "x"), read("a", "x"), read("a", "x"), read("a", "y")}, []string{"0", "3", "1", "2"}},
		"what closes goes before":  {[]Want{read("a", "x"), {Client: "b", Object: "x", Close: true}, {Client: "a", Close: true}}, []string{"1", "2", "0"}},
		"a client comes once more": {[]Want{read("a", "x"), read("b", "x"), read("c", "x"), read("a", "x")}, []string{"0", "1", "2", "3"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := order(t, c.wants...); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestWhoIsGoneLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(1)
		first := r.Enter(nil, read("a", "x"))
		gone := make(chan struct{})
		var left, next *Call
		var group sync.WaitGroup
		group.Go(func() { left = r.Enter(gone, read("a", "y")) })
		synctest.Wait()
		group.Go(func() { next = r.Enter(nil, read("a", "z")) })
		synctest.Wait()
		close(gone)
		synctest.Wait()
		if left != nil {
			t.Error("it has a place")
		}
		has(t, r, 1, 0)
		first.Leave()
		group.Wait()
		next.Leave()
		empty(t, r)
	})
}

// Operations of a few clients take locks and make calls, some of which hang for a while. Every call that holds a lock begins
// soon, and in the end all are over.
func TestNobodyIsStuck(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			r := New(4, 2)
			locks := make([]chan struct{}, 4) // not mutexes: for those the bubble's time stands still
			for i := range locks {
				locks[i] = make(chan struct{}, 1)
			}
			var group sync.WaitGroup
			for range 200 {
				w := Want{Client: random.IntN(3), Object: fmt.Sprint(random.IntN(6)), Facility: random.IntN(2), Read: random.IntN(2) == 0, First: true}
				lock, begins, calls := locks[random.IntN(len(locks))], time.Duration(random.IntN(30))*time.Second, 1+random.IntN(4)
				var lasts []time.Duration
				for range calls {
					lasts = append(lasts, []time.Duration{0, time.Millisecond, 900 * time.Millisecond, time.Minute}[random.IntN(4)])
				}
				group.Go(func() {
					time.Sleep(begins)
					if !w.Read {
						lock <- struct{}{}
						defer func() { <-lock }()
					}
					for _, last := range lasts {
						asked := time.Now()
						c := r.Enter(nil, w)
						if took := time.Since(asked); !w.Read && took > time.Minute {
							t.Errorf("a call that holds a lock waited %v", took)
						}
						w.First = false
						time.Sleep(last)
						c.Leave()
					}
				})
			}
			group.Wait()
			empty(t, r)
		})
	}
}
