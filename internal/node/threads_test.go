// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
)

// slowKernel lists the disks when the test allows it.
type slowKernel struct {
	kernel.Kernel
	proceed chan struct{}
	asked   atomic.Int32
}

func (k *slowKernel) DiskInterfaces() ([]string, error) {
	k.asked.Add(1)
	<-k.proceed
	return nil, nil
}

func listDisks(o *op) (int, error) { _, err := o.k.DiskInterfaces(); return 0, err }

// Calls whose turn has not come when their callers give up ask Windows nothing, whether they read or change something, and
// a change gives up its locks. Those that have begun go on.
func TestWhoGivesUpBeforeItsTurnAsksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &slowKernel{proceed: make(chan struct{})}
		n := bare(t, k)
		const late = 4 // so that all places are taken, whatever the objects
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		var results []func() (int, error)
		for i := range askWidth + late {
			results = append(results, startChange(ctx, n, on("change", diskObject(uint32(i))), listDisks))
			synctest.Wait() // the first ones get the places
		}
		if _, err := read(ctx, n, on("read", diskObject(0)), listDisks); !hasClass(err, DeadlineExceeded) {
			t.Errorf("the read got %v", err)
		}
		for _, result := range results {
			if _, err := result(); !hasClass(err, DeadlineExceeded) {
				t.Errorf("a change got %v", err)
			}
		}
		synctest.Wait()
		if k.asked.Load() != askWidth {
			t.Errorf("Windows was asked %d times, want %d", k.asked.Load(), askWidth)
		}
		if waiting, late := n.KernelCalls(); waiting != 0 || late != 0 {
			t.Errorf("%d calls wait still, and %d are late", waiting, late)
		}
		if got := len(n.Running()); got != askWidth {
			t.Errorf("%d operations run, want %d", got, askWidth)
		}
		again := startChange(t.Context(), n, on("again", diskObject(askWidth)), func(*op) (int, error) { return 1, nil })
		if got, err := again(); got != 1 || err != nil {
			t.Errorf("the object of a change that was given up: %d, %v", got, err)
		}
		close(k.proceed)
		if err := n.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func hasClass(err error, class Class) bool {
	var failure *Error
	return errors.As(err, &failure) && failure.Class == class
}

// A kernel function that is new is a call of some facility, or is known not to block.
func TestFacilities(t *testing.T) {
	of := map[int][]string{}
	for _, function := range append(kernel.Functions(), "Close") {
		for _, device := range []bool{false, true} {
			f := facilityOf(kernel.Call{Function: function, Device: device})
			if !slices.Contains(of[f], function) {
				of[f] = append(of[f], function)
			}
		}
	}
	want := map[int]int{fileCalls: 9, deviceCalls: 21, iscsiCalls: 13, serviceCalls: 4, shareCalls: 2, firmwareCalls: 1, quickCalls: 5}
	for f, n := range want {
		if len(of[f]) != n {
			t.Errorf("facility %d has the %d functions %v, want %d", f, len(of[f]), of[f], n)
		}
	}
}

// Operations of some clients work on a few volumes and paths, some of which hang for a while. All of them end.
func TestOperationsWithLocksEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &slowKernel{proceed: make(chan struct{})}
		close(k.proceed)
		n := bare(t, k)
		n.around = func(_ context.Context, _ kernel.Call, do func() error) error {
			if k.asked.Load()%7 == 0 {
				time.Sleep(5 * time.Second)
			}
			return do()
		}
		var results []func() (int, error)
		for i := range 300 {
			what := on("change", diskObject(uint32(i%5)), volumeObject(mustVolumeID(fmt.Sprintf(`\\?\Volume{00000000-0000-0000-0000-%012d}\`, i%3))))
			what.alone = true
			results = append(results, startChange(t.Context(), n, what, func(o *op) (int, error) {
				for range 3 {
					if _, err := listDisks(o); err != nil {
						return 0, err
					}
				}
				return read(o.ctx, n, on("read", what.objects[i%2]), listDisks)
			}))
		}
		for _, result := range results {
			if _, err := result(); err != nil {
				t.Error(err)
			}
		}
		if waiting, late := n.KernelCalls(); waiting != 0 || late != 0 {
			t.Errorf("%d calls wait still, and %d are late", waiting, late)
		}
	})
}
