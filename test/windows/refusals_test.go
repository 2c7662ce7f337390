// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"strings"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

// Questions that meet a refusal tell it, and go on where they can.

// refusing is a node that refuses one call.
type refusing struct {
	kernel.Kernel
	code     uint32 // of the control code on volumes; 0: none
	mounting bool
	formats  int // how many are refused
}

func (k *refusing) OpenDevice(path string, access uint32) (kernel.Handle, error) {
	h, err := k.Kernel.OpenDevice(path, access)
	if err == nil && k.code != 0 && strings.HasPrefix(path, `\\?\Volume`) {
		h = refusingHandle{h, k.code}
	}
	return h, err
}

type refusingHandle struct {
	kernel.Handle
	code uint32
}

func (h refusingHandle) DeviceIoControl(code uint32, in, out []byte) (int, error) {
	if code == h.code {
		return 0, win32.ERROR_NOT_READY
	}
	return h.Handle.DeviceIoControl(code, in, out)
}

func (k *refusing) SetVolumeMountPoint(mountPoint, volume string) error {
	if k.mounting {
		return win32.ERROR_SHARING_VIOLATION
	}
	return k.Kernel.SetVolumeMountPoint(mountPoint, volume)
}

func (k *refusing) FormatVolume(volume, fileSystem string) error {
	if k.formats--; k.formats >= 0 {
		return win32.ERROR_WRITE_PROTECT
	}
	return k.Kernel.FormatVolume(volume, fileSystem)
}

// R30 tells a volume that did not come from one that came and refuses.
func TestArrivalOfAVolume(t *testing.T) {
	off := scenario.Default().Switches
	off.AutomountOff = true
	const silent = "came, and does not tell its extents"
	for _, test := range []struct {
		want     string
		switches scenario.Switches
		kernel   func(kernel.Kernel) kernel.Kernel
		offline  string // IOCTL_VOLUME_IS_OFFLINE
	}{
		{silent, off, func(k kernel.Kernel) kernel.Kernel { return k }, "ERROR_NOT_READY"},
		{"none is known to lie there, and 0 came", scenario.Default().Switches, func(k kernel.Kernel) kernel.Kernel {
			return withoutVolumes{k, t}
		}, ""},
		{silent, scenario.Default().Switches, func(k kernel.Kernel) kernel.Kernel {
			return &refusing{Kernel: k, code: win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS}
		}, "ERROR_GEN_FAILURE"},
	} {
		s := emulatedSubject(t, test.switches)
		s.Kernel, s.Timeout = test.kernel(s.Kernel), time.Millisecond
		answer := (&inquiry{TB: t, Subject: s}).arrival()
		same(t, answer["volume"], test.want)
		same(t, answer["arrived, opened without access, IOCTL_VOLUME_IS_OFFLINE"], test.offline)
	}
}

// R29 notes what ended one of its parts, and tries the others.
func TestMountingIsRefused(t *testing.T) {
	s := emulatedSubject(t, scenario.Default().Switches)
	s.Kernel = &refusing{Kernel: s.Kernel, mounting: true}
	const code = "ERROR_SHARING_VIOLATION"
	ended := held{Mount: code, Ended: "without the handle: " + code}
	same(t, Question{ask: askHolders}.Ask(t, s).Answer, any(map[string]held{
		"may delete": ended, "does not share deletion": ended, "does not share deletion, and may write attributes": ended,
	}))
}

// A question that needs a formatted volume waits until Windows' provider knows the partition.
func TestFormattingIsRefusedAtFirst(t *testing.T) {
	q := &inquiry{TB: t, Subject: emulatedSubject(t, scenario.Default().Switches)}
	q.Kernel, q.Timeout = &refusing{Kernel: q.Kernel, formats: 2}, time.Minute
	q.newVolume()
}

// Questions change only the disks that they attach. The default node has three others.
func TestQuestionsChangeOnlyTheirDisks(t *testing.T) {
	q := &inquiry{TB: t, Subject: emulatedSubject(t, scenario.Default().Switches)}
	d := q.attach()
	opens := func(disk uint32) bool {
		h, err := q.Subject.openDisk(disk)
		if err == nil {
			_ = h.Close()
		}
		return err == nil
	}
	same(t, []bool{opens(d.Number()), opens(0), opens(1), opens(2)}, []bool{true, false, false, false})
	volumes, err := q.Kernel.VolumeNames()
	if err != nil || len(volumes) == 0 {
		t.Fatalf("the node has the volumes %q, %v", volumes, err)
	}
	for _, volume := range volumes {
		if q.Kernel.FormatVolume(volume, "NTFS") == nil {
			t.Errorf("%s was formatted", volume)
		}
	}
	q.check(d.Detach())
	same(t, opens(d.Number()), false)
}
