// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"
)

// acquire takes slots that are free.
func acquire(t *testing.T, c *Client, method string, n int) (slots []*Slot) {
	t.Helper()
	for i := range n {
		begin := time.Now()
		slot, err := c.Acquire(t.Context(), method)
		if err != nil || time.Since(begin) != 0 {
			t.Fatalf("slot %d: %v after %v", i, err, time.Since(begin))
		}
		slots = append(slots, slot)
	}
	return slots
}

func TestSlotsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cs := New(Limits{Operations: 4, ClientOperations: 3, ClientReserved: 1, Wait: time.Second}, klog.Background(),
			NewMetrics(nil))
		a, b, c := clientOf(t, cs, 1), clientOf(t, cs, 2), clientOf(t, cs, 3)
		acquire(t, a, "GetVolumeStats", 2)
		acquire(t, a, "ListDiskIDs", 1)
		begin := time.Now()
		_, err := a.Acquire(t.Context(), "Rescan")
		if took := time.Since(begin); !isExhausted(err) || took != time.Second {
			t.Errorf("beyond the client's limit: got %v after %v", err, took)
		}
		if want := "3 operations of this process are running, as many as may, and none ended within 1s: 2 GetVolumeStats, " +
			"1 ListDiskIDs, the oldest for 1s"; !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want %q", err, want)
		}
		acquire(t, b, "Mkdir", 3) // one reserved; with these all four are in use
		acquire(t, c, "Mkdir", 1) // the reserved one
		if _, err := c.Acquire(t.Context(), "Mkdir"); !isExhausted(err) ||
			!strings.Contains(err.Error(), "4 operations of all processes are running") {
			t.Errorf("beyond the limit of all: got %v", err)
		}
	})
}

// A process at its limit does not delay other processes, and slots are granted in order.
func TestSlotsAreGrantedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cs := New(Limits{Operations: 2, ClientOperations: 2, ClientReserved: -1}, klog.Background(), NewMetrics(nil))
		a, b := clientOf(t, cs, 1), clientOf(t, cs, 2)
		held := acquire(t, a, "Mkdir", 2)
		var order []string
		for _, w := range []struct {
			client *Client
			name   string
		}{{a, "a1"}, {b, "b1"}, {b, "b2"}, {a, "a2"}} {
			go func() {
				if _, err := w.client.Acquire(t.Context(), w.name); err == nil {
					order = append(order, w.name)
				}
			}()
			synctest.Wait()
		}
		for _, want := range []string{"a1", "a1 b1"} {
			held[0].Release()
			held = held[1:]
			synctest.Wait()
			if got := strings.Join(order, " "); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		time.Sleep(time.Minute) // the others are refused
	})
}

func TestClientAtItsLimitBlocksNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cs := New(Limits{Operations: 10, ClientOperations: 1, ClientReserved: -1}, klog.Background(), NewMetrics(nil))
		a, b := clientOf(t, cs, 1), clientOf(t, cs, 2)
		acquire(t, a, "Mkdir", 1)
		go func() { _, _ = a.Acquire(t.Context(), "Mkdir") }()
		synctest.Wait()
		acquire(t, b, "Mkdir", 1)
		time.Sleep(time.Minute)
	})
}

// A slot is held until the operation is over, not until the answer.
func TestOperationKeepsItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cs := New(Limits{ClientOperations: 1}, klog.Background(), NewMetrics(nil))
		a := clientOf(t, cs, 1)
		slot := acquire(t, a, "Mkdir", 1)[0]
		slot.Retain()
		slot.Release() // the call
		if _, err := a.Acquire(t.Context(), "Mkdir"); !isExhausted(err) {
			t.Errorf("while the operation runs: got %v", err)
		}
		slot.Release()
		acquire(t, a, "Mkdir", 1)
	})
}

// A reserved slot is free again after its operation, also when others have all the shared ones.
func TestReservedSlotIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cs := New(Limits{Operations: 1, ClientOperations: 2, ClientReserved: 1}, klog.Background(), NewMetrics(nil))
		a, b := clientOf(t, cs, 1), clientOf(t, cs, 2)
		for range 2 {
			acquire(t, a, "Mkdir", 1)[0].Release()
		}
		acquire(t, b, "Mkdir", 2) // its reserved one and the shared one
		acquire(t, a, "Mkdir", 1)
	})
}

func TestCancelledWaitTakesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cs := New(Limits{ClientOperations: 1}, klog.Background(), NewMetrics(nil))
		a := clientOf(t, cs, 1)
		slot := acquire(t, a, "Mkdir", 1)[0]
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() { _, err := a.Acquire(ctx, "Mkdir"); gone <- err }()
		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
		slot.Release()
		acquire(t, a, "Mkdir", 1)
	})
}
