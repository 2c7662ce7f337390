// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// TestLinkCutBeforeItsTarget: an agent that dies between a link's directory and its target leaves an empty directory,
// and nothing on the node tells it from one that a driver made: the retry leaves both alone, keeps the mapping, and
// names Rmdir, after which it succeeds.
func TestLinkCutBeforeItsTarget(t *testing.T) {
	const at = plugins + `\share`
	mapLinked := mapShare(caller.Share, at, caller.Password)
	for _, rebooted := range []bool{false, true} {
		cut := newWorld(t)
		cut.around.watch(callOf(t, mapLinked, win32.FSCTL_SET_REPARSE_POINT), func(call kernel.Call, do func() error) error {
			return dieBefore(cut, call, do)
		})
		if err := mapLinked(cut); err == nil {
			t.Fatal("the call of the agent that died succeeds")
		}
		cut.restart(rebooted)

		byDriver := newWorld(t)
		byDriver.OK(mapShare(caller.Share, "", caller.Password)(byDriver))
		byDriver.OK(byDriver.Mkdir(at))
		byDriver.restart(rebooted)
		if diff := byDriver.state().diff(cut.state()); diff != "" {
			t.Errorf("rebooted: %t: the node tells the directories apart (-a driver's +the cut call's):\n%s", rebooted, diff)
		}

		for name, w := range map[string]*world{"the cut call's": cut, "a driver's": byDriver} {
			before := w.state()
			err := mapLinked(w)
			if status.Code(err) != codes.AlreadyExists || !strings.Contains(err.Error(), "remove it with Rmdir") {
				t.Errorf("rebooted: %t: over %s directory: %v, want AlreadyExists and Rmdir", rebooted, name, err)
			}
			if diff := before.diff(w.state()); diff != "" {
				t.Errorf("rebooted: %t: over %s directory the retry changes (-before +after):\n%s", rebooted, name, diff)
			}
			w.OK(rmdir(at, false)(w))
			w.OK(mapLinked(w))
			w.end()
		}
	}
}

// callOf returns the number of the first kernel call with a control code that an undisturbed call makes.
func callOf(t *testing.T, call func(*world) error, code uint32) int {
	t.Helper()
	w := newWorld(t)
	defer w.end()
	w.around.watch(0, nil)
	w.OK(call(w))
	calls, _ := w.around.watched()
	for number, c := range calls {
		if c.Code == code {
			return number
		}
	}
	t.Fatalf("none of %d kernel calls has the code %#x", len(calls), code)
	return 0
}
