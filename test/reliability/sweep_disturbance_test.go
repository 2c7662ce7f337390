// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
	"github.com/kubernetes-csi/csi-proxy/test/examples"
)

// sharesFiles selects the calls that another program's open file makes fail for a while.
func sharesFiles(call csiproxytest.Calls) bool {
	return call.Function == "OpenFile" || strings.HasSuffix(call.Function, "etInformation")
}

// disturbances returns what happens at each call of an example.
func (w *world) disturbances(e examples.Example) []csiproxytest.Disturbance {
	other := func(call csiproxytest.Calls) bool { return call.Function != "" && !sharesFiles(call) }
	kernel := func(call csiproxytest.Calls) bool { return call.Function != "" }
	all := []csiproxytest.Disturbance{
		{Name: "fails", Fails: csiproxytest.ERROR_IO_DEVICE, At: other},
		{Name: "is shared", Fails: csiproxytest.ERROR_SHARING_VIOLATION, At: sharesFiles},
		{Name: "fails after it took effect", Fails: csiproxytest.ERROR_IO_DEVICE, After: true, At: other},
		{Name: "is shared after it took effect", Fails: csiproxytest.ERROR_SHARING_VIOLATION, After: true, At: sharesFiles},
		{Name: "is refused", Fails: csiproxytest.ERROR_ACCESS_DENIED, At: kernel},
		{Name: "agent dies before", Dies: true, At: kernel},
		{Name: "agent dies after", Dies: true, After: true, At: kernel},
		{Name: "power lost before", Dies: true, Reboots: true, At: kernel},
		{Name: "power lost after", Dies: true, Reboots: true, After: true, At: kernel},
	}
	changes := func(name string, after bool, change func(), repair func(*testing.T, *csiproxytest.Node)) {
		all = append(all, csiproxytest.Disturbance{Name: name, After: after, At: kernel,
			Meanwhile: func(*csiproxytest.Node) { change() }, Repair: repair})
	}
	byNumber := strings.HasPrefix(e.Method, "disk/") // which is another disk's if that comes in its place
	if e.OnTheDisk {
		pull := func() { w.pulled = w.pull() }
		changes("disk pulled before", false, pull, w.reattach)
		changes("disk pulled after", true, pull, w.reattach)
		changes("disk replaced by one with data", false, func() {
			w.replace(map[int64]string{1024 + 56: "\x53\xef", 5 << 20: "somebody's"}) // ext4 without a partition table
		}, w.takeBack)
		changes("disk replaced by a blank one after", true, func() { w.replace(nil) }, w.takeBack)
	}
	if e.OnTheDisk && !byNumber {
		changes("disk replaced by one that could grow, before", false, w.replaceByLike, w.takeBack)
		changes("disk replaced by one that could grow, after", true, w.replaceByLike, w.takeBack)
	}
	return all
}

// reattach brings the pulled disk back.
func (w *world) reattach(t *testing.T, _ *csiproxytest.Node) {
	t.Helper()
	if w.pulled != "" {
		w.attach(examples.TheDiskSpec(w.pulled))
	}
}

// replace pulls the disk and attaches another one, which gets its number and its address.
func (w *world) replace(marks map[int64]string) {
	w.t.Helper()
	chosen := w.chosen()
	w.intended = marks == nil && w.method == "nodesteps/StageDisk" && !chosen
	w.offline = w.method == "disk/SetDiskState" && !chosen
	w.pulled = w.pull()
	spec := examples.TheDiskSpec(w.image(marks))
	spec.SerialNumber = "intruder"
	w.attach(spec)
	w.intruder = w.diskAsItIs()
}

// replaceByLike does as replace, with a disk that has a volume at the same place, and free space behind it.
func (w *world) replaceByLike() {
	w.t.Helper()
	w.intended = w.method == "nodesteps/StageDisk" && !w.chosen()
	w.pulled = w.pull()
	spec := examples.TheDiskSpec("")
	spec.SerialNumber, spec.Formatted = "intruder", true
	w.attach(spec)
	w.Grow()
	w.intruder = w.diskAsItIs()
}

// diskAsItIs returns the disk's content and state, as they are compared.
func (w *world) diskAsItIs() string {
	w.t.Helper()
	disks, _ := caller.Observe(w.t, w.Emulated).Disks()
	d := disks[examples.TheDisk]
	online := d.IsOnline() || w.offline
	return fmt.Sprintf("disk %d, online %t, read-only %t, digest %s", d.Number, online, d.IsReadOnly(),
		w.node.DiskDigest(examples.TheDisk))
}

// takeBack checks whether the other disk was left alone, and swaps the disks back.
func (w *world) takeBack(t *testing.T, n *csiproxytest.Node) {
	t.Helper()
	if w.pulled == "" {
		return
	}
	if got := w.diskAsItIs(); !w.intended && got != w.intruder {
		t.Errorf("the call changed a disk that came while it was running: %s, was %s", got, w.intruder)
	}
	w.pull()
	w.reattach(t, n)
}
