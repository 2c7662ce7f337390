// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
	"github.com/kubernetes-csi/csi-proxy/test/examples"
)

// TestLinkCutBeforeItsTarget: an agent that dies between a link's directory and its target leaves an empty directory,
// and nothing on the node tells it from one that a driver made: the retry leaves both alone, keeps the mapping, and
// names Rmdir, after which it succeeds.
func TestLinkCutBeforeItsTarget(t *testing.T) {
	const at = examples.ShareLink
	mapLinked := examples.Map(caller.Share, at)
	for _, rebooted := range []bool{false, true} {
		cut, i := interruption(examples.Example{Call: mapLinked})
		i.Disturbances = []csiproxytest.Disturbance{{Name: "agent dies", Dies: true, Reboots: rebooted,
			At: func(call csiproxytest.Calls) bool { return call.ControlCode == "FSCTL_SET_REPARSE_POINT" }}}
		i.Judge = func(t *testing.T, _ *csiproxytest.Node, err error) bool {
			if err == nil {
				t.Fatal("the call of the agent that died succeeds")
			}
			byDriver := newWorld(t)
			byDriver.OK(byDriver.Map(caller.Share, ""))
			byDriver.OK(byDriver.Mkdir(at))
			byDriver.restart(rebooted)
			if diff := cmp.Diff(byDriver.state(), cut.state()); diff != "" {
				t.Errorf("the node tells the directories apart (-a driver's +the cut call's):\n%s", diff)
			}
			for name, w := range map[string]*world{"the cut call's": cut, "a driver's": byDriver} {
				before := w.state()
				err := mapLinked(w.Node)
				if status.Code(err) != codes.AlreadyExists || !strings.Contains(err.Error(), "remove it with Rmdir") {
					t.Errorf("over %s directory: %v, want AlreadyExists and Rmdir", name, err)
				}
				if diff := cmp.Diff(before, w.state()); diff != "" {
					t.Errorf("over %s directory the retry changes (-before +after):\n%s", name, diff)
				}
				w.OK(w.Rmdir(at, false))
				w.OK(mapLinked(w.Node))
			}
			return true
		}
		i.Run(t)
	}
}
