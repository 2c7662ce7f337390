// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// TestOfflineWhileInUse: Windows takes a disk offline that is in use. All volumes are locked before one is dismounted.
// The one that is not in use is locked until it is gone; the other one keeps only what was written before the flush.
func TestOfflineWhileInUse(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	ids, dirs := twoVolumes(t, n), []string{staging + "-one", staging + "-two"}
	for i, id := range ids {
		noError(t, formatVolume(t, n, id))
		noError(t, mount(t, n, id, dirs[i]))
		n.WriteFile(dirs[i]+`\data`, "flushed")
	}
	openData := func(dir string) (kernel.Handle, error) {
		return n.Emulated.OpenFile(nil, `\\?\C:`+dir+`\data`, kernel.OpenOptions{
			Access: win32.FILE_WRITE_DATA, Share: win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE, Disposition: win32.FILE_OPEN,
		})
	}
	inUse, err := openData(dirs[1])
	noError(t, err)
	pod, err := os.OpenFile(n.HostPath(dirs[1]+`\data`), os.O_WRONLY|os.O_APPEND, 0)
	noError(t, err)
	write := func() {
		_, err := pod.WriteString(" and more")
		noError(t, err)
	}

	// Between the flush and the disk's going.
	fault := testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_DISK_SET_DISK_ATTRIBUTES, Times: 1, Hang: true}
	hang, reached, err := n.Agent.Harness.Faults.Add(fault)
	noError(t, err)
	n.Faults.Calls()
	offline := make(chan error, 1)
	go func() { offline <- setState(t, n, 1, false) }()
	<-reached
	if h, err := openData(dirs[0]); err == nil {
		t.Error("a file is opened on a volume that is dismounted for good")
		noError(t, h.Close())
	}
	write()
	n.Agent.Harness.Faults.Remove(hang)
	noError(t, <-offline)
	write()
	noError(t, inUse.Close())
	noError(t, pod.Close())

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
	one, two := strings.TrimSuffix(ids[0], `\`), strings.TrimSuffix(ids[1], `\`)
	if diff := cmp.Diff([][2]string{
		{"FSCTL_LOCK_VOLUME", one},
		{"FSCTL_LOCK_VOLUME", two},
		{"FSCTL_DISMOUNT_VOLUME", one},
		{"Flush", two},
		{"IOCTL_DISK_SET_DISK_ATTRIBUTES", `\\.\PhysicalDrive1`},
	}, slices.Compact(steps)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}

	noError(t, setState(t, n, 1, true))
	for _, dir := range dirs {
		if text := n.ReadFile(dir + `\data`); text != "flushed" && runtime.GOOS != "windows" {
			t.Errorf("%s has %q", dir, text)
		}
	}
}
