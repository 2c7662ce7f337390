// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
)

// Objects asked side by side answer in order. One that hangs is left out after a while, is listed as running, is not
// asked again and again, and delays no caller once it is known to hang.
func TestOneOfManyThatHangsIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := bare(t, nil)
		hang := make(chan struct{})
		var begun atomic.Int32
		list := func() (numbers []int, took time.Duration) {
			since := time.Now()
			numbers, err := read(t.Context(), n, on("List"), func(o *op) ([]int, error) {
				var answered []int
				objects := []object{diskObject(0), diskObject(1), diskObject(2)}
				for _, a := range askEach(o, objects, func(_ *op, i int) (int, error) {
					if i == 1 {
						begun.Add(1)
						<-hang
					}
					return i, nil
				}) {
					if a.err == nil {
						answered = append(answered, a.value)
					}
				}
				return answered, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return numbers, time.Since(since)
		}
		for range 2 {
			if got, took := list(); !cmp.Equal(got, []int{0, 2}) || took != askTime {
				t.Errorf("got %v after %v, want 0 and 2 after %v", got, took, askTime)
			}
		}
		time.Sleep(lateAfter)
		for range 10 {
			if got, took := list(); !cmp.Equal(got, []int{0, 2}) || took != 0 {
				t.Errorf("got %v after %v, want 0 and 2 at once", got, took)
			}
		}
		if begun.Load() != lateMost {
			t.Errorf("what hangs was asked %d times, want %d", begun.Load(), lateMost)
		}
		var names []string
		for _, r := range n.Running() {
			names = append(names, r.Name)
		}
		if want := []string{"List(disk 1)", "List(disk 1)"}; !cmp.Equal(names, want) {
			t.Errorf("running: %q, want %q", names, want)
		}
		close(hang)
		synctest.Wait()
		if got, _ := list(); len(got) != 3 {
			t.Errorf("when it answers again: %v", got)
		}
	})
}

// A caller with a short deadline still gets the answers of the others.
func TestAskingEndsBeforeItsCallersDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := bare(t, nil)
		hang := make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), 3*askTimeLeast)
		defer cancel()
		count, err := read(ctx, n, on("Count"), func(o *op) (int, error) {
			failed := 0
			for _, a := range askEach(o, []object{diskObject(0), diskObject(1)},
				func(_ *op, i int) (int, error) { <-hang; return i, nil }) {
				if a.err != nil {
					failed++
				}
			}
			return failed, nil
		})
		if count != 2 || err != nil {
			t.Errorf("got %d, %v, want both left out within the deadline", count, err)
		}
		close(hang)
	})
}

func TestAskingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := bare(t, nil)
		objects := make([]object, 5*askWidth)
		for i := range objects {
			objects[i] = diskObject(uint32(i))
		}
		release, begun := make(chan struct{}), make(chan struct{}, len(objects))
		go func() {
			_, _ = read(t.Context(), n, on("List"), func(o *op) (int, error) {
				return len(askEach(o, objects, func(_ *op, i int) (int, error) { begun <- struct{}{}; <-release; return i, nil })),
					nil
			})
		}()
		synctest.Wait()
		if len(begun) != askWidth {
			t.Errorf("%d are asked at once, want %d", len(begun), askWidth)
		}
		close(release)
	})
}

// While a read hangs on its way, at a share or volume that its path leads through, other reads there are refused, and
// only those.
func TestHangingCountsWhereItHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := bare(t, nil)
		hang := make(chan struct{})
		through := func(path, share string, wait <-chan struct{}) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := read(ctx, n, on("PathExists", object{kind: pathKind, name: path}), func(o *op) (bool, error) {
				back, err := o.reach(volumeObject(system))
				if err != nil {
					return false, err
				}
				back()
				if _, err := o.reach(shareObject(share)); err != nil {
					return false, err
				}
				if wait != nil {
					<-wait
				}
				return true, nil
			})
			return err
		}
		for i := range lateMost {
			if err := through(fmt.Sprintf(`C:\dir%d`, i), `\\dead\share`, hang); err == nil {
				t.Fatal("got an answer")
			}
		}
		time.Sleep(lateAfter)
		var e *errdefs.Error
		if err := through(`C:\another`, `\\dead\share`, nil); !errors.As(err, &e) || e.Class != errdefs.Unavailable {
			t.Errorf("another path through the share: %v, want Unavailable", err)
		}
		if err := through(`C:\another`, `\\living\share`, nil); err != nil {
			t.Errorf("the same path through another share: %v", err)
		}
		if _, err := read(t.Context(), n, on("GetVolumeStats", volumeObject(system)),
			func(*op) (int, error) { return 0, nil }); err != nil {
			t.Errorf("a volume that was passed on the way: %v", err)
		}
		close(hang)
	})
}

var system = mustVolumeID(`\\?\Volume{11111111-1111-1111-1111-111111111111}\`)
