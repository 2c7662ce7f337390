// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// TestOfflineWhileInUse: Windows takes a disk offline that is in use. All volumes are locked before one is dismounted.
// The one that is not in use is locked until it is gone; the other one is flushed last, and keeps what is written there.
func TestOfflineWhileInUse(t *testing.T) {
	n := startShared(t)
	openData := func(dir string) (kernel.Handle, error) {
		return n.Emulated.OpenFile(nil, `\\?\`+dir+`\file`, kernel.OpenOptions{
			Access: win32.FILE_WRITE_DATA, Share: win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE, Disposition: win32.FILE_OPEN,
		})
	}
	inUse, err := openData(theirs)
	n.OK(err)

	// Between the flush and the disk's going.
	reached, release := n.Hang(csiproxytest.Calls{Function: "DeviceIoControl",
		ControlCode: "IOCTL_DISK_SET_DISK_ATTRIBUTES", Times: 1})
	n.Faults.Calls()
	offline := make(chan error, 1)
	go func() { offline <- n.SetDiskState(1, false) }()
	<-reached
	if h, err := openData(ours); err == nil {
		t.Error("a file is opened on a volume that is dismounted for good")
		n.OK(h.Close())
	}
	release()
	n.OK(<-offline)
	n.OK(inUse.Close())

	var steps [][2]string
	for _, c := range n.Faults.Calls() {
		switch {
		case c.Function == "Flush":
			steps = append(steps, [2]string{c.Function, c.Object})
		case c.Code == win32.FSCTL_LOCK_VOLUME, c.Code == win32.FSCTL_DISMOUNT_VOLUME,
			c.Code == win32.IOCTL_DISK_SET_DISK_ATTRIBUTES:
			steps = append(steps, [2]string{win32.ControlCodeName(c.Code), c.Object})
		}
	}
	one, two := strings.TrimSuffix(n.ids[0], `\`), strings.TrimSuffix(n.ids[1], `\`)
	if diff := cmp.Diff([][2]string{
		{"FSCTL_LOCK_VOLUME", one},
		{"FSCTL_LOCK_VOLUME", two},
		{"FSCTL_DISMOUNT_VOLUME", one},
		{"Flush", two},
		{"IOCTL_DISK_SET_DISK_ATTRIBUTES", `\\.\PhysicalDrive1`},
	}, slices.Compact(steps)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}

	n.OK(n.SetDiskState(1, true))
	for _, dir := range []string{ours, theirs} {
		if text := n.ReadFile(dir + `\file`); text != dir {
			t.Errorf("%s has %q", dir, text)
		}
	}
}
