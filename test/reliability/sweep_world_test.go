// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
	"github.com/kubernetes-csi/csi-proxy/test/examples"
)

// bystander is a disk that is in use, mounted at bystanderPath, and that nothing may touch.
const (
	bystander     = examples.Bystander
	bystanderPath = examples.Plugins + `\bystander`
)

// world is the node of one example. Calls arrive in process.
type world struct {
	*examples.Node
	t    testing.TB
	node *testnode.Node

	host func(change, path string) error // takes the place of operations on the host's files by its error; nil: none

	bystander string // the digest of its image
	pulled    string // the image of the detached disk
	intruder  string // the disk that came in its place
	method    string // of the example. StageDisk by number means the disk that it finds there
	intended  bool   // the intruder came before the step had looked, so it is the one that is meant
	offline   bool   // the intruder came before SetDiskState had opened a disk, so it may be the one that goes offline
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{}
	w.start(t)
	return w
}

// start starts a node and mounts the bystander's volume, with data in it.
func (w *world) start(t testing.TB) {
	t.Helper()
	*w = world{t: t}
	options := emulated.Options{Scenario: examples.Scenario(), Before: w.beforeHost}
	w.node = testnode.Start(t, testnode.Options{Emulated: options})
	w.Node = &examples.Node{Node: &caller.Node{Node: w.node, Calls: caller.By(t, w.node.InProcess())}}
	w.OK(w.MountVolume(w.Volumes(bystander)[0], bystanderPath))
	w.WriteFile(bystanderPath+`\data`, "precious")
	w.bystander = w.node.DiskDigest(bystander)
}

// beforeHost is called before each operation on the host's files.
func (w *world) beforeHost(change, path string) error {
	if w.host == nil {
		return nil
	}
	return w.host(change, path)
}

// restart starts the next agent with what the last one left, after a power loss if the node rebooted.
func (w *world) restart(rebooted bool) {
	w.t.Helper()
	w.node.Restore(w.node.Save())
	if rebooted {
		w.node.Reboot()
	}
}

// chosen reports whether the agent has settled on the disk since a call was begun: it has asked the disk for its marks
// among all disks or, for SetDiskState, which is given a number, used what it had opened.
func (w *world) chosen() bool {
	return slices.ContainsFunc(w.node.Faults.Calls(), func(call kernel.Call) bool {
		return call.Code == win32.IOCTL_STORAGE_QUERY_PROPERTY && call.Part == examples.TheDisk+1 ||
			call.Function == "DeviceIoControl" && w.method == "disk/SetDiskState"
	})
}

// volume returns the data volume of a disk, asked past the disturbed agent.
func (w *world) volume(disk uint32) (string, error) {
	_, volumes := caller.Observe(w.t, w.Emulated).Disks()
	for id, place := range volumes {
		if strings.HasPrefix(place, fmt.Sprintf("volume of disk %d,", disk)) {
			return id, nil
		}
	}
	return "", fmt.Errorf("disk %d has no volume", disk)
}

// pull detaches the disk and returns its image.
func (w *world) pull() string {
	w.t.Helper()
	image, err := w.Emulated.DetachDisk(examples.TheDisk)
	w.OK(err)
	return image
}

// attach attaches a disk in the pulled one's place.
func (w *world) attach(spec bundle.Spec) {
	w.t.Helper()
	number, err := w.Emulated.AttachDisk(spec)
	w.OK(err)
	if number != examples.TheDisk {
		w.t.Fatalf("the disk comes as number %d, want %d", number, examples.TheDisk)
	}
}

// image makes a disk's bytes: some marks on zeros.
func (w *world) image(marks map[int64]string) string {
	w.t.Helper()
	f, err := os.CreateTemp(w.t.TempDir(), "intruder")
	w.OK(err)
	w.OK(f.Truncate(examples.DiskBytes))
	for at, bytes := range marks {
		_, err := f.WriteAt([]byte(bytes), at)
		w.OK(err)
	}
	w.OK(f.Close())
	return f.Name()
}
