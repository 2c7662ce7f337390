// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/examples"
)

// hostFailures are what the host's operations fail with. The full disk stays full until the call has answered.
var hostFailures = []error{syscall.EIO, syscall.ENOSPC, syscall.EACCES, syscall.EMFILE, syscall.EROFS}

// errDied is what an operation fails with before which the process died, and each later one.
var errDied = errors.New("the process is dead")

// TestHostFailures lets each operation on the host's files fail in each example: once, or that and each later one until
// the call has answered, or with the process dying there. When the cause has gone, or the next process has started on
// what the dead one left, the driver's retry reaches the state of the undisturbed call.
func TestHostFailures(t *testing.T) {
	eachExample(t, 1, 0, failHost)
}

func failHost(t *testing.T, subject int, e examples.Example) {
	t.Helper()
	const every = 11
	w, i := interruption(e)
	n := i.Setup(t)
	before, prepared, operations := n.Save(), i.State(n), 0
	n.Restore(before)
	w.host = func(string, string) error { operations++; return nil }
	w.OK(i.Operation(t.Context(), n))
	w.host = nil
	want := i.State(n)
	if operations == 0 && !gocmp.Equal(prepared, want) {
		t.Fatal("the call changes the node by no operation on the host's files")
	}
	for target := range operations {
		for way, name := range []string{"once", "until the answer", "for ever, as the process is dead"} {
			if !testnode.Sampled(t, 3*target+way, subject, every) {
				continue
			}
			n.Restore(before)
			failure, dead, met, operations := hostFailures[(target+subject)%len(hostFailures)], way == 2, "", 0
			if dead {
				failure = errDied
			}
			w.host = func(change, path string) error {
				if operations++; operations-1 != target && (way == 0 || operations <= target) {
					return nil
				}
				met = cmp.Or(met, change+" "+path)
				return failure
			}
			err := i.Operation(t.Context(), n)
			w.host = nil
			if dead {
				w.startOnWhatIsLeft()
			} else {
				i.Judge(t, n, err)
			}
			if err != nil {
				err = w.again(e)
			}
			if strings.HasSuffix(met, "disk.img") && err != nil && strings.Contains(err.Error(), " is not blank: ") {
				continue // as half a partition table is not
			}
			if diff := gocmp.Diff(want, i.State(n)); diff != "" || err != nil {
				t.Fatalf("%s failed with %v, %s: the retry: %v\n(-want +got):\n%s", met, failure, name, err, diff)
			}
		}
	}
}

// startOnWhatIsLeft starts the node on its files alone.
func (w *world) startOnWhatIsLeft() {
	w.t.Helper()
	left := filepath.Join(testnode.ShortDir(w.t), "left")
	w.OK(new(hostfiles.Host).CopyDir(w.node.StateDir, left))
	w.OK(w.node.Agent.Restore(left))
	w.OK(os.RemoveAll(left))
}
