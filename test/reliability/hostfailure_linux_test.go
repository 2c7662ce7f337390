// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
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

// hostFailures are what the host's operations fail with. The full disk stays full until the call has answered.
var hostFailures = []error{syscall.EIO, syscall.ENOSPC, syscall.EACCES, syscall.EMFILE, syscall.EROFS}

// TestHostFailures lets each operation on the host's files fail in each example, once, or that and each later one until
// the call has answered. When the cause has gone, the driver's retry reaches the state of the undisturbed call.
func TestHostFailures(t *testing.T) {
	var total sweepCounts
	eachExample(t, 7, 3, func(t *testing.T, i int, e swept) { e.failHost(t, i, &total) })
	total.tell(t)
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
	if wrong := e.judge(w, err, want, goesOn, true); wrong != "" {
		t.Error(wrong)
	}
	return met, operations
}
