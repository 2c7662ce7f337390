// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
)

// spanned is a node one of whose volumes lies on several disks, as volumes of dynamic disks may.
type spanned struct {
	*emulated.Node
	volume  string
	extents win32.VolumeDiskExtents
}

func (s *spanned) OpenDevice(path string, access uint32) (kernel.Handle, error) {
	h, err := s.Node.OpenDevice(path, access)
	if err == nil && path+`\` == s.volume {
		h = spannedHandle{h, s.extents}
	}
	return h, err
}

type spannedHandle struct {
	kernel.Handle
	extents win32.VolumeDiskExtents
}

func (h spannedHandle) DeviceIoControl(code uint32, in, out []byte) (int, error) {
	if code != win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS {
		return h.Handle.DeviceIoControl(code, in, out)
	}
	answer := deviceside.VolumeDiskExtents(h.extents)
	if len(out) < len(answer) {
		return copy(out, answer[:8]), win32.ERROR_MORE_DATA
	}
	return copy(out, answer), nil
}

// TestSpannedVolumeOnSystemDiskIsRefused: a volume on two disks is spared for the sake of the second.
func TestSpannedVolumeOnSystemDiskIsRefused(t *testing.T) {
	k := emulate(t, emulated.Options{})
	s := &spanned{Node: k}
	n := bare(t, s)
	must(t, by(t.Context(), n).PartitionDisk(1))
	ids, err := by(t.Context(), n).ListVolumesOnDisk(1)
	must(t, err)
	system, err := by(t.Context(), n).ListVolumesOnDisk(0)
	must(t, err)
	for _, id := range append(ids, system...) {
		parsed, err := parseVolumeID(id)
		must(t, err)
		h, err := k.OpenDevice(parsed.Device(), 0)
		must(t, err)
		out := make([]byte, 32)
		length, err := h.DeviceIoControl(win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, out)
		must(t, errors.Join(err, h.Close()))
		extents, err := win32.ParseVolumeDiskExtents(out[:length])
		must(t, err)
		s.extents = append(s.extents, extents...)
		if id == system[0] {
			break
		}
	}
	s.volume = ids[0]
	if err := by(t.Context(), n).FormatVolume(ids[0]); !errdefs.HasReason(err, reason.SystemDisk) {
		t.Errorf("a volume on disk 1 and Windows' own disk: %v, want %s", err, reason.SystemDisk)
	}
	s.extents = s.extents[:1]
	must(t, by(t.Context(), n).FormatVolume(ids[0]))
}

// TestSystemDiskStaysWritable: Windows would not run for long. What was written to another disk reaches it before it
// becomes read-only.
func TestSystemDiskStaysWritable(t *testing.T) {
	flushed := 0
	n, _ := nodeWith(t, func(_ context.Context, call kernel.Call, do func() error) error {
		if call.Function == "Flush" {
			flushed++
		}
		return do()
	}, bundle.Spec{SizeBytes: 64 << 20, Formatted: true})
	if err := n.Disks.SetDiskReadOnly(t.Context(), 0, true); !errdefs.HasReason(err, reason.SystemDisk) {
		t.Errorf("got %v, want %s", err, reason.SystemDisk)
	}
	must(t, n.Disks.SetDiskReadOnly(t.Context(), 1, true))
	if flushed != 1 {
		t.Errorf("the disk's volume was flushed %d times", flushed)
	}
}

// moving is a node one of whose volumes is found on another disk when it is looked for again.
type moving struct {
	spanned
	asked int
}

func (m *moving) OpenDevice(path string, access uint32) (kernel.Handle, error) {
	if path+`\` == m.volume {
		if m.asked++; m.asked == 1 {
			return m.Node.OpenDevice(path, access)
		}
	}
	return m.spanned.OpenDevice(path, access)
}

// TestVolumeThatMoves: while a call waits for its volume's disk, another disk may get the number. It is neither grown,
// nor held for a mount.
func TestVolumeThatMoves(t *testing.T) {
	for name, call := range map[string]func(n *Node, id string) error{
		"ResizeVolume": func(n *Node, id string) error { return by(t.Context(), n).ResizeVolume(id, 0) },
		"MountVolume":  func(n *Node, id string) error { return by(t.Context(), n).MountVolume(id, KubeletDir+`\new`) },
	} {
		t.Run(name, func(t *testing.T) {
			k := emulate(t, emulated.Options{})
			m := &moving{spanned: spanned{Node: k}}
			n := bare(t, m)
			must(t, by(t.Context(), n).PartitionDisk(1))
			ids, err := by(t.Context(), n).ListVolumesOnDisk(1)
			must(t, err)
			must(t, k.GrowDisk(1, 11<<30))
			m.volume, m.extents = ids[0], win32.VolumeDiskExtents{{DiskNumber: 2, StartingOffset: 1 << 20, Length: 1 << 30}}
			wantError(t, call(n, ids[0]), errdefs.Unavailable, reason.DiskChanged)
			if paths, err := k.VolumePathNames(ids[0]); len(paths) > 0 || err != nil {
				t.Errorf("it is mounted at %q, %v", paths, err)
			}
		})
	}
}
