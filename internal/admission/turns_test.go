// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/transport"
)

// gated is Clients with a few clients that call.
type gated struct {
	*Clients
	in []uint32 // the processes that were let in, in order; guarded by the clients' lock
}

func newGated(l Limits) *gated {
	return &gated{Clients: New(l, klog.Background(), nil)}
}

// client returns a client that has called before.
func (g *gated) client(pid uint32) *Client {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.of(transport.Peer{PID: pid}, nil)
}

// outcome is the result of a call: its slot, or the error.
type outcome struct {
	slot *Slot
	err  error
}

// call begins a call of a client. Its outcome comes when it is let in or refused.
func (g *gated) call(ctx context.Context, c *Client) <-chan outcome {
	result := make(chan outcome, 1)
	go func() {
		slot, err := c.Enter(ctx)
		if err == nil {
			g.mu.Lock()
			g.in = append(g.in, c.peer.PID)
			g.mu.Unlock()
		}
		result <- outcome{slot, err}
	}()
	synctest.Wait()
	return result
}

// exhausted reports whether an error comes from a limit.
func exhausted(err error) bool {
	e := (*node.Error)(nil)
	return errors.As(err, &e) && e.Class == node.ResourceExhausted
}

// However many calls one client has waiting, another's first call is next but one.
func TestClientsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(Limits{Calls: 2, ClientCalls: 2, Wait: time.Hour})
		flood, driver, other := g.client(1), g.client(2), g.client(3)
		var calls []<-chan outcome
		for _, c := range []*Client{flood, flood, flood, flood, flood, flood, flood, flood, flood, flood, driver, other, driver} {
			calls = append(calls, g.call(t.Context(), c))
		}
		for range 13 {
			i := slices.IndexFunc(calls, func(c <-chan outcome) bool { return len(c) > 0 })
			(<-calls[i]).slot.Release()
			synctest.Wait()
		}
		want := []uint32{1, 1, 1, 2, 3, 1, 2, 1, 1, 1, 1, 1, 1}
		if d := cmp.Diff(want, g.in); d != "" {
			t.Errorf("clients let in (-want +got):\n%s", d)
		}
		if g.running != 0 || len(g.lines) != 0 {
			t.Errorf("in the end %d calls run and %d clients wait", g.running, len(g.lines))
		}
	})
}

// A client that fills all its slots with calls that do not end leaves the other slots to others.
func TestOneClientDoesNotFillAllPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(Limits{Calls: 8, ClientCalls: 2, ClientWaiting: 3, Wait: 10 * time.Second})
		hung, driver := g.client(1), g.client(2)
		var waiting []<-chan outcome
		for range 5 {
			waiting = append(waiting, g.call(t.Context(), hung))
		}
		if one := <-g.call(t.Context(), hung); !exhausted(one.err) {
			t.Errorf("one too many waits: got %v, want that it is refused at once", one.err)
		}
		for range 3 { // one after the other; none of the slots that it gives back goes to the hung client
			one := <-g.call(t.Context(), driver)
			if one.err != nil {
				t.Fatalf("the driver: %v", one.err)
			}
			one.slot.Release()
		}
		for range 2 {
			if one := <-g.call(t.Context(), driver); one.err != nil {
				t.Errorf("the driver: %v", one.err)
			}
		}
		expired, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if one := <-g.call(expired, driver); !errors.Is(one.err, context.DeadlineExceeded) {
			t.Errorf("a caller who gives up: got %v", one.err)
		}
		if got := fmt.Sprint(testutil.ToFloat64(g.metrics.places), testutil.ToFloat64(g.metrics.queued)); got != "4 3" {
			t.Errorf("places taken and calls queued in the metrics: %s, want 4 3", got)
		}
		time.Sleep(10 * time.Second)
		var refused []bool
		for _, w := range waiting {
			refused = append(refused, exhausted((<-w).err))
		}
		if d := cmp.Diff([]bool{false, false, true, true, true}, refused); d != "" {
			t.Errorf("refused calls among those that do not end (-want +got):\n%s", d)
		}
		if len(g.lines) != 0 {
			t.Errorf("%d clients wait though none has a call", len(g.lines))
		}
	})
}

// A slot is free again when the call and all its operations are over, and not before.
func TestPlaceIsKeptForWhatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(Limits{Calls: 1, Wait: time.Second})
		c := g.client(1)
		first := <-g.call(t.Context(), c)
		if first.err != nil {
			t.Fatal(first.err)
		}
		first.slot.Hold()
		first.slot.Release() // the call was answered
		if one := <-g.call(t.Context(), c); !exhausted(one.err) {
			t.Errorf("while its operation goes on: got %v, want that it is refused", one.err)
		}
		first.slot.Release()
		if one := <-g.call(t.Context(), c); one.err != nil {
			t.Errorf("afterwards: %v", one.err)
		}
	})
}

func TestLogLinesOfOneClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := allowance{burst: clientBurst, every: clientEvery}
		told := 0
		for range 10 * clientBurst {
			if ok, _ := a.take(); ok {
				told++
			}
		}
		if told != clientBurst {
			t.Errorf("%d lines at once, want %d", told, clientBurst)
		}
		time.Sleep(clientEvery)
		ok, leftOut := a.take()
		again, _ := a.take()
		if got, want := fmt.Sprint(ok, leftOut, again), fmt.Sprint(true, 9*clientBurst, false); got != want {
			t.Errorf("a little later: %s, want %s", got, want)
		}
		time.Sleep(clientBurst * clientEvery)
		for i := range clientBurst {
			if ok, _ := a.take(); !ok {
				t.Fatalf("after a rest only %d lines", i)
			}
		}
	})
}
