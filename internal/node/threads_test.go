// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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

// startRead is startChange for a read.
func startRead(ctx context.Context, n *Node, what operation, f func(o *op) (int, error)) func() (int, error) {
	type result struct {
		value int
		err   error
	}
	results := make(chan result, 1)
	go func() {
		value, err := read(ctx, n, what, f)
		results <- result{value, err}
	}()
	return func() (int, error) { r := <-results; return r.value, r.err }
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
		for i := range changePlaces + late {
			results = append(results, startChange(ctx, n, on("change", diskObject(uint32(i))), listDisks))
			synctest.Wait() // the first ones get the places
		}
		for i := range askWidth + late {
			results = append(results, startRead(ctx, n, on("read", diskObject(uint32(i))), listDisks))
			synctest.Wait()
		}
		for i, result := range results {
			if _, err := result(); !hasClass(err, DeadlineExceeded) {
				t.Errorf("operation %d got %v", i, err)
			}
		}
		synctest.Wait()
		const begun = changePlaces + askWidth
		if k.asked.Load() != begun {
			t.Errorf("Windows was asked %d times, want %d", k.asked.Load(), begun)
		}
		if waiting, late := n.KernelCalls(); waiting != 0 || late != 0 {
			t.Errorf("%d calls wait still, and %d are late", waiting, late)
		}
		if got := len(n.Running()); got != begun {
			t.Errorf("%d operations run, want %d", got, begun)
		}
		again := startChange(t.Context(), n, on("again", diskObject(changePlaces)), func(*op) (int, error) { return 1, nil })
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

// sizesKernel answers after a while for how much room a volume has, and knows how many were asked at a time.
type sizesKernel struct {
	kernel.Kernel
	now, most atomic.Int32
}

func (k *sizesKernel) DiskFreeSpace(string) (total, free uint64, err error) {
	now := k.now.Add(1)
	for most := k.most.Load(); now > most && !k.most.CompareAndSwap(most, now); most = k.most.Load() {
	}
	time.Sleep(10 * time.Millisecond)
	k.now.Add(-1)
	return 2, 1, nil
}

// Kubelet asks for the sizes of all volumes of a node: nothing but the places stands between its callers.
func TestSizesOfManyVolumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const volumes, callers = 500, askWidth
		k := &sizesKernel{}
		n := bare(t, k)
		var next atomic.Int32
		var group sync.WaitGroup
		begin := time.Now()
		for range callers {
			group.Go(func() {
				for i := next.Add(1); i <= volumes; i = next.Add(1) {
					if _, err := n.Volumes.GetVolumeStats(t.Context(), fmt.Sprintf(`\\?\Volume{00000000-0000-0000-0000-%012d}\`, i)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		if k.most.Load() != callers {
			t.Errorf("%d volumes were asked at a time, want %d", k.most.Load(), callers)
		}
		if took, want := time.Since(begin), (volumes+callers-1)/callers*10*time.Millisecond; took != want {
			t.Errorf("took %v of the test's clock, want %v", took, want)
		}
	})
}
