// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// Objects asked side by side answer in order. One that hangs is left out after a while, is listed as running, is not
// asked again and again, and delays no caller once it is known to hang.
func TestHangingObjectIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewRunner(Config{})
		hang := make(chan struct{})
		var begun atomic.Int32
		var log bytes.Buffer
		ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
		list := func() (numbers []int, took time.Duration) {
			since := time.Now()
			numbers, err := Read(ctx, n, On("List"), func(o *Operation) ([]int, error) {
				var answered []int
				objects := []Object{Disk(0), Disk(1), Disk(2)}
				for _, a := range ForEach(o, objects, func(_ *Operation, i int) (int, error) {
					if i == 1 {
						begun.Add(1)
						<-hang
					}
					return i, nil
				}) {
					if a.Err == nil {
						answered = append(answered, a.Value)
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
			if got, took := list(); !cmp.Equal(got, []int{0, 2}) || took != childTime {
				t.Errorf("got %v after %v, want 0 and 2 after %v", got, took, childTime)
			}
		}
		if lines := strings.Count(log.String(), "is left out"); lines != 2 {
			t.Errorf("the log says %d times that it is left out, want 2:\n%s", lines, &log)
		}
		time.Sleep(stuckAfter)
		for range 10 {
			if got, took := list(); !cmp.Equal(got, []int{0, 2}) || took != 0 {
				t.Errorf("got %v after %v, want 0 and 2 at once", got, took)
			}
		}
		if begun.Load() != maxStuck {
			t.Errorf("what hangs was asked %d times, want %d", begun.Load(), maxStuck)
		}
		var names []string
		for _, r := range n.Running(func(string) bool { return true }) {
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
		n := NewRunner(Config{})
		hang := make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), 3*minChild)
		defer cancel()
		count, err := Read(ctx, n, On("Count"), func(o *Operation) (int, error) {
			failed := 0
			for _, a := range ForEach(o, []Object{Disk(0), Disk(1)},
				func(_ *Operation, i int) (int, error) { <-hang; return i, nil }) {
				if a.Err != nil {
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
		n := NewRunner(Config{})
		objects := make([]Object, 5*maxParallel)
		for i := range objects {
			objects[i] = Disk(uint32(i))
		}
		release, begun := make(chan struct{}), make(chan struct{}, len(objects))
		go func() {
			_, _ = Read(t.Context(), n, On("List"), func(o *Operation) (int, error) {
				return len(ForEach(o, objects, func(_ *Operation, i int) (int, error) { begun <- struct{}{}; <-release; return i, nil })),
					nil
			})
		}()
		synctest.Wait()
		if len(begun) != maxParallel {
			t.Errorf("%d are asked at once, want %d", len(begun), maxParallel)
		}
		close(release)
	})
}

// An operation on a share and a path is listed with the share's server, which is what it may wait for.
func TestRunningNamesTheServer(t *testing.T) {
	n := NewRunner(Config{})
	_, err := Read(t.Context(), n, On("NewSmbGlobalMapping", Share(`\\fs\s`), Object{class: pathClass, name: `C:\k`}),
		func(*Operation) (int, error) {
			if all := n.Running(func(string) bool { return true }); len(all) != 1 || all[0].GetServer() != "fs" {
				t.Errorf("got %v, want one operation, of the server fs", all)
			}
			return 0, nil
		})
	if err != nil {
		t.Error(err)
	}
}

// While a read hangs on its way, at a share or volume that its path leads through, other reads there are refused, and
// only those.
func TestHangingCountsWhereItHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewRunner(Config{})
		hang := make(chan struct{})
		through := func(path, share string, wait <-chan struct{}) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := Read(ctx, n, On("PathExists", Object{class: pathClass, name: path}), func(o *Operation) (bool, error) {
				back, err := o.TrackObject(Volume(system))
				if err != nil {
					return false, err
				}
				back()
				if _, err := o.TrackObject(Share(share)); err != nil {
					return false, err
				}
				if wait != nil {
					<-wait
				}
				return true, nil
			})
			return err
		}
		for i := range maxStuck {
			if err := through(fmt.Sprintf(`C:\dir%d`, i), `\\dead\share`, hang); err == nil {
				t.Fatal("got an answer")
			}
		}
		time.Sleep(stuckAfter)
		var e *errdefs.Error
		if err := through(`C:\another`, `\\dead\share`, nil); !errors.As(err, &e) || e.Class != errdefs.Unavailable {
			t.Errorf("another path through the share: %v, want Unavailable", err)
		}
		if err := through(`C:\another`, `\\living\share`, nil); err != nil {
			t.Errorf("the same path through another share: %v", err)
		}
		if _, err := Read(t.Context(), n, On("GetVolumeStats", Volume(system)),
			func(*Operation) (int, error) { return 0, nil }); err != nil {
			t.Errorf("a volume that was passed on the way: %v", err)
		}
		close(hang)
	})
}

var system = mustVolumeID(`\\?\Volume{11111111-1111-1111-1111-111111111111}\`)

func mustVolumeID(text string) winpath.VolumeID {
	id, err := winpath.ParseVolumeID(text)
	if err != nil {
		panic(err)
	}
	return id
}
