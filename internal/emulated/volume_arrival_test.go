// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

// After a reboot, volumes are not late.
func TestLateVolumesAfterAReboot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, func(s *scenario.Switches) { s.VolumesArriveLate = true })
		name := strings.TrimSuffix(partition(t, n, oneDrive), `\`)
		_, err := n.OpenDevice(name, 0)
		wantCode(t, "at once", err, win32.ERROR_FILE_NOT_FOUND)
		must(t, n.Reboot())
		openDevice(t, n, name, 0)
	})
}

// An offline volume refuses all control codes but the one that brings it online. The name of its partition opens it,
// too.
func TestOfflineVolumeRefusals(t *testing.T) {
	n := newNode(t, func(s *scenario.Switches) { s.AutomountOff = true })
	partition(t, n, oneDrive)
	layout := layoutOf(t, n, 1)
	if last := layout.Partitions[len(layout.Partitions)-1].Number; last != 2 {
		t.Fatalf("the data partition is %d", last)
	}
	const name = `\\?\GLOBALROOT\Device\Harddisk1\Partition2`
	h := openDevice(t, n, name, win32.GENERIC_READ|win32.GENERIC_WRITE)
	ask := func(when string, want ...win32.Errno) {
		t.Helper()
		for i, code := range []uint32{
			win32.IOCTL_VOLUME_IS_OFFLINE, win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS,
			win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, win32.IOCTL_DISK_GET_LENGTH_INFO,
		} {
			_, err := h.DeviceIoControl(code, nil, make([]byte, 64))
			wantCode(t, when+": "+win32.ControlCodeName(code), err, want[i])
		}
	}
	ask("offline", win32.ERROR_NOT_READY, win32.ERROR_NOT_READY, win32.ERROR_NOT_READY, win32.ERROR_NOT_READY)
	control(t, h, win32.IOCTL_VOLUME_ONLINE, nil)
	ask("online", win32.ERROR_GEN_FAILURE, 0, 0, 0)
	for _, other := range []string{`1\Partition3`, `3\Partition2`, `1\Partition`} {
		_, err := n.OpenDevice(`\\?\GLOBALROOT\Device\Harddisk`+other, 0)
		wantCode(t, other, err, win32.ERROR_FILE_NOT_FOUND)
	}
}
