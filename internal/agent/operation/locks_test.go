// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// An operation that waited for another keeps out the ones after it.
func TestQueuedOperationBlocksLaterOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewRunner(Config{})
		atWork := 0
		begin := func(verb string) (end func()) {
			proceed := make(chan struct{})
			result := startChange(t.Context(), n, On(verb, Disk(1)), func(*Operation) (int, error) {
				if atWork++; atWork > 1 {
					t.Errorf("%d operations are at work on one disk", atWork)
				}
				<-proceed
				atWork--
				return 0, nil
			})
			synctest.Wait()
			return func() {
				close(proceed)
				if _, err := result(); err != nil {
					t.Error(err)
				}
				synctest.Wait()
			}
		}
		endFirst, endSecond := begin("first"), begin("second")
		endFirst()
		endThird := begin("third")
		endSecond()
		endThird()
		if len(n.locks.locks) != 0 {
			t.Errorf("%d locks are kept although nothing runs", len(n.locks.locks))
		}
	})
}

// A call that gives up waiting for a lock holds nothing any more, however long the lock is taken.
func TestCancelledWaitReleasesLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &holder{}
		n := NewRunner(Config{})
		n.config.Lease = h.hold
		proceed := make(chan struct{})
		first := startChange(t.Context(), n, On("first", Disk(1)), func(*Operation) (int, error) { <-proceed; return 0, nil })
		synctest.Wait()
		ctx, giveUp := context.WithCancel(t.Context())
		queued := startChange(ctx, n, On("queued", Disk(1)), func(*Operation) (int, error) { return 0, nil })
		synctest.Wait()
		giveUp()
		_, _ = queued()
		synctest.Wait()
		if got := h.held.Load(); got != 1 {
			t.Errorf("%d places are held, want that of the call that is at work", got)
		}
		close(proceed)
		_, _ = first()
	})
}

// Whatever order a request names its objects in, and however it spells them, they are locked once and in one order.
func TestObjectsAreLockedInOneOrder(t *testing.T) {
	path := func(text string) Object {
		parsed, err := winpath.Parse(text, winpath.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return Path(parsed)
	}
	volume := Volume(mustVolumeID(`\\?\Volume{00000000-0000-0000-0000-000000000001}\`))
	one := []Object{path(`C:\pods\a`), path(`C:\pods\b`), volume, Disk(1), Disk(2), Service("msiscsi")}
	other := []Object{
		Service("MSiSCSI"), Disk(2), Disk(1), Disk(2), volume, path(`c:\Pods\B`),
		path(`C:\PODS\A`), path(`C:\pods\a`),
	}
	first, second := inLockOrder(one), inLockOrder(other)
	if !slices.EqualFunc(first, second, Object.same) {
		t.Errorf("two orders, or a lock that is taken twice: %q, %q", first, second)
	}
	if !slices.EqualFunc(first, one, Object.same) {
		t.Errorf("got %q, want paths before volumes before disks before services", first)
	}
}

// Of two callers that wait for one operation, one gives up: the other gets the result.
func TestCancelledCallerLeavesJoinedCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewRunner(Config{})
		proceed := make(chan struct{})
		holder := startChange(t.Context(), n, On("holder", Disk(1)),
			func(*Operation) (int, error) { <-proceed; return 0, nil })
		synctest.Wait()
		ctx, giveUp := context.WithCancel(t.Context())
		queued := func(ctx context.Context) func() (int, error) {
			return startChange(ctx, n, On("queued", Disk(1)), func(*Operation) (int, error) { return 5, nil })
		}
		first := queued(ctx)
		synctest.Wait()
		second := queued(t.Context())
		synctest.Wait()
		giveUp()
		if _, err := first(); err == nil {
			t.Error("a cancelled call succeeded")
		}
		close(proceed)
		if value, err := second(); value != 5 || err != nil {
			t.Errorf("the caller that went on waiting got %d, %v", value, err)
		}
		_, _ = holder()
	})
}

// Calls are one only if nothing distinguishes them.
func TestOperationsThatDiffer(t *testing.T) {
	with := func(change func(w *Request)) string {
		w := On("Rmdir", Disk(1))
		w.Arguments, w.Credentials = "force=true", "a"
		change(&w)
		return w.key()
	}
	same := func(*Request) {}
	keys := []string{
		with(same), with(func(w *Request) { w.Verb = "RmdirContents" }),
		with(func(w *Request) { w.Objects[0] = Disk(2) }),
		with(func(w *Request) { w.Arguments = "force=false" }), with(func(w *Request) { w.Credentials = "b" }),
		with(func(w *Request) { w.NoJoin = true }),
	}
	if keys[0] != with(same) {
		t.Error("two identical calls are two")
	}
	slices.Sort(keys)
	if len(slices.Compact(keys)) != 6 {
		t.Errorf("different calls are one: %q", keys)
	}
}
