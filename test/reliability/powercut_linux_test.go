// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/internal/powercut"
	"github.com/kubernetes-csi/csi-proxy/internal/testnode"
)

// stepOfHost returns the step between the operations on the host's files that are disturbed. CSI_PROXY_LONG=all tries
// all.
func stepOfHost() int {
	switch {
	case os.Getenv("CSI_PROXY_LONG") == "all":
		return 1
	case testnode.Long():
		return 23
	}
	return 17
}

// TestPowerCuts cuts the host's power before each operation on its files in each example, and after the call has
// answered. Of what was not durable, nothing is left, everything, or a random mix. The node starts, and the driver's
// retry reaches the state of the undisturbed call; what was answered is there without a retry.
func TestPowerCuts(t *testing.T) {
	var total sweepCounts
	seed := rand.Uint64()
	eachExample(t, 7, 0, func(t *testing.T, i int, e swept) { e.cutPower(t, i, seed, &total) })
	t.Logf("seed %d, %s", seed, total.String())
}

func (e swept) cutPower(t *testing.T, subject int, seed uint64, total *sweepCounts) {
	t.Helper()
	w := e.prepared(t)
	defer w.end()
	disk := powercut.Watch(t, w.dir)
	w.host = disk.Before
	step := stepOfHost()
	var want state // the undisturbed one, when it is needed
	operations := 0
	disk.At = func(change, path string) error {
		if operations++; operations%step == subject%step && !t.Failed() {
			if want.Paths == nil {
				want, _ = e.undisturbed(t, rebooted)
			}
			for i, loss := range powercut.Losses(seed+uint64(operations), 1) {
				disk.Cut(loss, func() {
					w.after(true, func(after *world) {
						if err := e.again(after); err != nil {
							t.Errorf("before %s %s the power is lost, %s, and the driver's retry fails: %v", change, path, loss, err)
						}
						if diff := cmp.Diff(want, after.state(), cmpopts.EquateEmpty()); diff != "" {
							t.Errorf("before %s %s the power is lost, %s; after the retry (-want +got):\n%s", change, path, loss, diff)
						}
					})
				})
				total.add([]string{"nothing unsynced left", "everything left", "a random mix left"}[i], 1)
			}
		}
		return nil
	}
	if err := e.call(w); err != nil {
		t.Fatalf("undisturbed: %v", err)
	}
	disk.At = nil
	answered := w.state()
	for _, loss := range powercut.Losses(seed, 1)[:1] {
		disk.Cut(loss, func() {
			w.after(false, func(after *world) {
				if diff := cmp.Diff(answered, after.state(), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("the call answered, the power is lost, %s, and (-before +after):\n%s", loss, diff)
				}
			})
		})
		total.add("after the answer", 1)
	}
	total.there(3*operations + 1)
}

// after opens the node as a power cut left it. The node before the cut is in the middle of an operation, perhaps of an
// agent's, so all happens on another goroutine, which a failure may end.
func (w *world) after(rebooted bool, look func(*world)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		after := &world{t: w.t, ctx: w.ctx, dir: w.dir, bystander: w.bystander}
		after.open(nil)
		defer after.die()
		if rebooted {
			after.must(after.emulated.Reboot())
		}
		after.start()
		look(after)
	}()
	<-done
}

// hostFailures are what the host's operations fail with. The full disk stays full until the call has answered.
var hostFailures = []error{syscall.EIO, syscall.ENOSPC, syscall.EACCES, syscall.EMFILE, syscall.EROFS}

// TestHostFailures lets each operation on the host's files fail in each example, once, or that and each later one until
// the call has answered. When the cause has gone, the driver's retry reaches the state of the undisturbed call.
func TestHostFailures(t *testing.T) {
	var total sweepCounts
	eachExample(t, 7, 3, func(t *testing.T, i int, e swept) { e.failHost(t, i, &total) })
	t.Log(total.String())
}

func (e swept) failHost(t *testing.T, subject int, total *sweepCounts) {
	t.Helper()
	want, _ := e.undisturbed(t, goesOn)
	step := stepOfHost()
	for point := subject % step; ; point += step {
		target, stays := point/2, point%2 == 1
		failure := hostFailures[(target+subject)%len(hostFailures)]
		met, operations := e.failOperation(t, target, failure, stays, want)
		if met == "" {
			total.there(2 * operations)
			return
		}
		total.add(fmt.Sprintf("%v, %s", failure, map[bool]string{false: "once", true: "until the answer"}[stays]), 1)
		if t.Failed() {
			t.Fatalf("%s failed with %v, until the answer: %t", met, failure, stays)
		}
	}
}

// failOperation plays one failure and returns the operation that it met, and how many there were.
func (e swept) failOperation(t *testing.T, target int, failure error, stays bool,
	want state) (met string, operations int) {
	t.Helper()
	w := e.prepared(t)
	defer w.end()
	w.host = func(change, path string) error {
		if operations++; operations-1 == target || stays && operations > target {
			if met == "" {
				met = change + " " + path
			}
			return failure
		}
		return nil
	}
	err := e.call(w)
	w.host = nil
	if met == "" {
		return "", operations
	}
	if err == nil {
		if diff := cmp.Diff(want, w.state(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("it answers OK, and (-want +got):\n%s", diff)
		}
	} else if code := status.Code(err); slices.Contains([]codes.Code{codes.Unknown, codes.Internal}, code) {
		t.Errorf("the driver gets an error without information: %v", err)
	}
	if err := e.again(w); err != nil {
		t.Errorf("the driver's retry fails: %v", err)
	}
	if diff := cmp.Diff(want, w.state(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("after the retry (-want +got):\n%s", diff)
	}
	return met, operations
}
