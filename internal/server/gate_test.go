// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
)

// gated is a door with a few clients in front of it.
type gated struct {
	*clients
	in []string // who was let in, in order; guarded by the clients' lock
}

func newGated(l Limits) *gated {
	return &gated{clients: newClients(l.complete(), klog.Background(), nil)}
}

// call begins a call of a client. Its result comes when it is let in or refused.
func (g *gated) call(ctx context.Context, p *process, s *slot) <-chan error {
	result := make(chan error, 1)
	go func() {
		err := g.enter(ctx, p, s)
		if err == nil {
			g.mu.Lock()
			g.in = append(g.in, p.name)
			g.mu.Unlock()
		}
		result <- err
	}()
	synctest.Wait()
	return result
}

// However many calls one client has waiting, another's first one is next but one.
func TestClientsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(Limits{Calls: 2, ClientCalls: 2, Wait: time.Hour})
		flood, driver, other := &process{name: "flood"}, &process{name: "driver"}, &process{name: "other"}
		slots := make([]*slot, 0, 16)
		call := func(p *process) {
			s := &slot{}
			slots = append(slots, s)
			g.call(t.Context(), p, s)
		}
		for range 10 {
			call(flood)
		}
		call(driver)
		call(other)
		call(driver)
		for range 13 {
			i := slices.IndexFunc(slots, func(s *slot) bool { return s.holds.Load() > 0 })
			slots[i].Release()
			synctest.Wait()
		}
		want := "flood flood flood driver other flood driver flood flood flood flood flood flood"
		if got := strings.Join(g.in, " "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if g.queue.running != 0 || len(g.queue.lines) != 0 {
			t.Errorf("in the end %d calls run and %d clients wait", g.queue.running, len(g.queue.lines))
		}
	})
}

// A client that has all its places filled with calls that do not end leaves the other places to others.
func TestOneClientDoesNotFillAllPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(Limits{Calls: 4, ClientCalls: 2, ClientWaiting: 3, Wait: 10 * time.Second})
		hung, driver := &process{name: "hung"}, &process{name: "driver"}
		var waiting []<-chan error
		for range 5 {
			waiting = append(waiting, g.call(t.Context(), hung, &slot{}))
		}
		if err := <-g.call(t.Context(), hung, &slot{}); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("one too many waits: got %v, want ResourceExhausted at once", err)
		}
		for range 3 { // one after the other, and none of the places that it gives back goes to the hung one
			s := &slot{}
			if err := <-g.call(t.Context(), driver, s); err != nil {
				t.Errorf("the driver: %v", err)
			}
			s.Release()
		}
		for range 2 {
			if err := <-g.call(t.Context(), driver, &slot{}); err != nil {
				t.Errorf("the driver: %v", err)
			}
		}
		expired, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		given := g.call(expired, driver, &slot{})
		if err := <-given; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller who gives up: got %v", err)
		}
		if got := fmt.Sprint(testutil.ToFloat64(g.metrics.places), testutil.ToFloat64(g.metrics.queued)); got != "4 3" {
			t.Errorf("places taken and calls queued in the metrics: %s, want 4 3", got)
		}
		time.Sleep(10 * time.Second)
		var got []codes.Code
		for _, w := range waiting {
			got = append(got, status.Code(<-w))
		}
		if d := cmp.Diff([]codes.Code{codes.OK, codes.OK, codes.ResourceExhausted, codes.ResourceExhausted, codes.ResourceExhausted}, got); d != "" {
			t.Errorf("the calls that do not end (-want +got):\n%s", d)
		}
		if len(g.queue.lines) != 0 {
			t.Errorf("%d clients wait though none has a call", len(g.queue.lines))
		}
	})
}

// A place is free again when the call and all that it set in motion is over, and not before.
func TestPlaceIsKeptForWhatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(Limits{Calls: 1, Wait: time.Second})
		p := &process{name: "p"}
		s := &slot{}
		if err := <-g.call(t.Context(), p, s); err != nil {
			t.Fatal(err)
		}
		held := Hold(&call{Context: t.Context(), slot: slot{}}) // a call that never entered
		if held != nil {
			t.Errorf("a call without a place holds %v", held)
		}
		s.hold()
		s.Release() // the call was answered
		if err := <-g.call(t.Context(), p, &slot{}); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("while its operation goes on: got %v, want ResourceExhausted", err)
		}
		s.Release()
		if err := <-g.call(t.Context(), p, &slot{}); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestLogLinesOfOneClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a allowance
		told := 0
		for range 10 * lineBurst {
			if ok, _ := a.take(); ok {
				told++
			}
		}
		if told != lineBurst {
			t.Errorf("%d lines at once, want %d", told, lineBurst)
		}
		time.Sleep(lineEvery)
		ok, leftOut := a.take()
		again, _ := a.take()
		if got, want := fmt.Sprint(ok, leftOut, again), fmt.Sprint(true, 9*lineBurst, false); got != want {
			t.Errorf("a little later: %s, want %s", got, want)
		}
		time.Sleep(lineBurst * lineEvery)
		for i := range lineBurst {
			if ok, _ := a.take(); !ok {
				t.Fatalf("after a rest only %d lines", i)
			}
		}
	})
}
