// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/examples"
)

// tooLate: Windows removes the mount point at a path, whichever volume it is for, so that one call later is too late.
func tooLate(call csiproxytest.Calls) bool {
	return call.Function == "FinalPath" || call.Function == "DeleteVolumeMountPoint"
}

// TestOutsiders lets another program, such as an administrator's, change mount points at every kernel call of an
// operation that removes directories or mount points. The operation may fail; it must not remove another volume than
// the intended one, nor the content of a volume.
func TestOutsiders(t *testing.T) {
	const below = examples.Staging + `\directory\deeper\`
	filled := func(n *examples.Node) { n.OK(n.Mkdir(examples.Staging + `\directory\deeper`)) }
	mountBystander := func(at string) func(*world) bool {
		return func(w *world) bool {
			id, err := w.volume(bystander)
			w.OK(err)
			return w.Emulated.SetVolumeMountPoint(at, id) == nil
		}
	}
	mountInstead := func(w *world) bool {
		return w.Emulated.DeleteVolumeMountPoint(examples.Staging+`\`) == nil && mountBystander(examples.Staging+`\`)(w)
	}
	remount := func(w *world) bool { // and fill the directory that is being emptied
		return mountBystander(below)(w)
	}
	keepsData := func(*world) string { return "" } // which is always checked
	keepsMount := func(w *world) string {
		if got := w.state().Paths[examples.Staging]; got != fmt.Sprintf("leads to volume of disk %d, partition 2", bystander) {
			return fmt.Sprintf("the other volume was taken away: %s is %q", examples.Staging, got)
		}
		return ""
	}
	remove := func(n *examples.Node) error { return n.Rmdir(examples.Staging, true) }
	var met atomic.Int64
	t.Cleanup(func() { t.Logf("%d kernel calls met", met.Load()) })
	every := 4
	switch {
	case testnode.Long():
		every = 1
	case testing.Short():
		every = 12
	}
	for _, c := range []struct {
		name    string
		prepare func(*examples.Node)
		call    func(*examples.Node) error
		meddle  func(*world) bool // whether it was possible
		verdict func(*world) string
	}{
		{"a volume is mounted below what Rmdir removes", filled, remove, remount, keepsData},
		{"a volume is mounted below what RmdirContents empties", filled, examples.Empty, remount, keepsData},
		{"another volume is mounted where UnmountVolume unmounts", examples.InUse, examples.Unmount, mountInstead, keepsMount},
		{"another volume is mounted where MountVolume mounts", func(n *examples.Node) {
			examples.Formatted(n)
			n.OK(n.Mkdir(examples.Staging))
		}, examples.Mount, mountBystander(examples.Staging + `\`), keepsMount},
	} {
		outsiders := func(t *testing.T, objects bool) {
			t.Helper()
			could := false
			w, i := interruption(examples.Example{Call: c.call, Prepare: func(n *examples.Node) {
				c.prepare(n)
				n.OK(n.Emulated.SetSwitch("mountPointCallsDelete", strconv.FormatBool(objects)))
			}})
			i.Everywhere = true
			i.Try = func(number int) bool { return number%every == 0 }
			i.Disturbances = []csiproxytest.Disturbance{{Name: "outsider",
				Meanwhile: func(*csiproxytest.Node) { could = c.meddle(w) },
				At:        func(call csiproxytest.Calls) bool { return call.Function != "" && !tooLate(call) }}}
			i.Judge = func(t *testing.T, _ *csiproxytest.Node, err error) bool {
				if !could {
					return true
				}
				met.Add(1)
				if got := w.state().Files[fmt.Sprintf("volume of disk %d, partition 2: /data", bystander)]; got != "precious" {
					t.Errorf("the volume lost its file; the call's result is %v", err)
				}
				if verdict := c.verdict(w); verdict != "" {
					t.Errorf("%s; the call's result is %v", verdict, err)
				}
				return true
			}
			i.Run(t)
		}
		for _, objects := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, Windows objects to the held directory: %t", c.name, objects),
				func(t *testing.T) {
					t.Parallel() // where Windows objects, each call takes half a second
					outsiders(t, objects)
				})
		}
	}
}
