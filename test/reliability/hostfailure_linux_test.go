// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"cmp"
	"os"
	"syscall"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

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
	eachExample(t, 7, 3, func(t *testing.T, i int, e swept) { e.failHost(t, i) })
}

func (e swept) failHost(t *testing.T, subject int) {
	t.Helper()
	w, i := e.interruption()
	n := i.Setup(t)
	before := n.Save()
	n.Restore(before)
	w.OK(i.Operation(t.Context(), n))
	want, step := w.state(), stepOfHost()
	for point := subject % step; ; point += step {
		n.Restore(before)
		target, stays, operations, met := point/2, point%2 == 1, 0, ""
		failure := hostFailures[(target+subject)%len(hostFailures)]
		w.host = func(change, path string) error {
			if operations++; operations-1 == target || stays && operations > target {
				met = cmp.Or(met, change+" "+path)
				return failure
			}
			return nil
		}
		err := i.Operation(t.Context(), n)
		w.host = nil
		if met == "" {
			testnode.Tried(t, false, max(0, 2*operations-point/step))
			return
		}
		testnode.Tried(t, true, 1)
		i.Judge(t, n, err)
		if err != nil {
			err = e.again(w)
		}
		if diff := gocmp.Diff(want, w.state()); diff != "" || err != nil {
			t.Fatalf("%s failed with %v, until the answer: %t: the retry: %v\n(-want +got):\n%s", met, failure, stays, err, diff)
		}
	}
}
