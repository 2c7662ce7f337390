// SPDX-License-Identifier: Apache-2.0

//go:build unix

package published

import (
	"slices"
	"testing"

	"google.golang.org/grpc/codes"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/testnode"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

// TestUnstageInterrupted: after a failure before or after any call of the API, unstaging again takes the disk offline
// and leaves nothing at the path; a disk that is in use elsewhere stays online.
func TestUnstageInterrupted(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	ctx, m, match := t.Context(), n.seeing(), mounter.BySerialNumber(serial)
	online := func() bool {
		state, err := n.Disk.GetDiskState(ctx, &diskapi.GetDiskStateRequest{DiskNumber: 1})
		check(t, "asking for the disk's state", err)
		return state.GetIsOnline()
	}
	for call := range 24 {
		if !testnode.Sampled(t, call, 1, 3) {
			continue
		}
		_, err := m.StageDisk(ctx, match, staging, mounter.StageOptions{})
		check(t, "staging", err)
		fail := n.FailRPC
		if call%2 == 1 {
			fail = n.FailRPCAfter
		}
		end := fail(csiproxytest.Calls{Method: "*", Skip: call / 2, Times: 1}, codes.Internal, "the node failed")
		_ = m.UnstageDisk(ctx, match, staging)
		end()
		for range 2 {
			check(t, "unstaging again", m.UnstageDisk(ctx, match, staging))
		}
		if exists, err := m.PathExists(ctx, staging); exists || err != nil || online() {
			t.Errorf("call %d failed, and afterwards the path exists: %t, %v; the disk is online: %t",
				call, exists, err, online())
		}
	}
	for _, volume := range []string{"a", "b"} {
		_, err := m.StageDisk(ctx, match, targetOf(volume), mounter.StageOptions{})
		check(t, "staging", err)
	}
	check(t, "unstaging the first", m.UnstageDisk(ctx, match, targetOf("a")))
	if !online() {
		t.Error("the disk went offline under another mount point")
	}
	n.DetachDisk(1)
	check(t, "unstaging a disk that is gone", m.UnstageDisk(ctx, match, targetOf("b")))
}

// TestUnstageWithoutDirectory: kubelet has removed the staging directory. The disk is dismounted and taken offline all
// the same. One that cannot be read is not taken for one that is gone.
func TestUnstageWithoutDirectory(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	ctx, match := t.Context(), mounter.BySerialNumber(serial)
	cannotOpen := func(object string) func() {
		return n.Fail(csiproxytest.Calls{Function: "OpenDevice", Object: object}, "ERROR_IO_DEVICE")
	}
	for name, c := range map[string]struct {
		injectFault func() (end func())
		fails       bool
	}{
		"all is well": {injectFault: func() func() { return func() {} }},
		"the disk's marks cannot be read once": {injectFault: func() func() {
			return n.Fail(csiproxytest.Calls{Function: "DeviceIoControl", ControlCode: "IOCTL_STORAGE_QUERY_PROPERTY",
				Object: "prod_disk#1&", Times: 3}, "ERROR_IO_DEVICE")
		}},
		"the disk does not answer": {injectFault: func() func() {
			byInterface, byNumber := cannotOpen("prod_disk#1&"), cannotOpen("physicaldrive1")
			return func() { byInterface(); byNumber() }
		}, fails: true},
	} {
		_, err := m.StageDisk(ctx, match, staging, mounter.StageOptions{})
		check(t, "staging", err)
		check(t, "removing the directory", m.Remove(ctx, staging))
		before := n.Newest()
		end := c.injectFault()
		err = m.UnstageDisk(ctx, match, staging)
		end()
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
		if !c.fails && n.Tree().GetDisks()[1].GetOnline() {
			t.Errorf("%s: the disk is online", name)
		}
		for range 2 {
			check(t, name+": unstaging again", m.UnstageDisk(ctx, match, staging))
		}
		if n.Tree().GetDisks()[1].GetOnline() {
			t.Errorf("%s: the disk is online in the end", name)
		}
		controls := n.Find(csiproxytest.Query{After: before, Function: "DeviceIoControl"})
		if !slices.ContainsFunc(controls,
			func(e *admin.JournalEntry) bool { return e.GetKernel().GetControlCode() == "FSCTL_DISMOUNT_VOLUME" }) {
			t.Errorf("%s: the volume was not dismounted", name)
		}
	}
	end := n.Fail(csiproxytest.Calls{Function: "DeviceIoControl", ControlCode: "IOCTL_DISK_SET_DRIVE_LAYOUT_EX"},
		"ERROR_IO_DEVICE")
	if err := (subject{Node: n, disk: 2}).partition(t); err == nil {
		t.Error("the disk was partitioned although Windows wrote no partition")
	}
	end()
	n.SetDiskOnline(2, true)
	check(t, "unstaging a disk without a volume", m.UnstageDisk(ctx, mounter.ByNumber(2), staging))
	if n.Tree().GetDisks()[2].GetOnline() {
		t.Error("a disk without a volume is online")
	}
	check(t, "unstaging the system disk", m.UnstageDisk(ctx, mounter.ByNumber(0), staging))
}
