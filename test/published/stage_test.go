// SPDX-License-Identifier: Apache-2.0

//go:build unix

package published

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/mounter"
	"github.com/kubernetes-csi/csi-proxy/mounter/csicode"
)

// A subject is a disk of 1 GiB that a test stages at a place of its own.
type subject struct {
	*testnode.Node
	m                 *mounter.Mounter
	disk              uint32
	serial, at, other string
}

func (s subject) stage(t *testing.T, target string, options mounter.StageOptions) mounter.Device {
	t.Helper()
	device, err := s.m.StageDisk(t.Context(), mounter.BySerialNumber(s.serial), target, options)
	check(t, "staging "+s.serial, err)
	return device
}

func (s subject) partition(t *testing.T) error {
	t.Helper()
	_, err := s.Disk.PartitionDisk(t.Context(), &diskapi.PartitionDiskRequest{DiskNumber: s.disk})
	return err
}

// withData stages the disk somewhere and writes a file.
func (s subject) withData(t *testing.T, target string) {
	t.Helper()
	s.stage(t, target, mounter.StageOptions{})
	s.WriteFile(target+`\data`, "precious")
}

// diskOf returns the state of a disk; one that is gone is offline.
func diskOf(n *testnode.Node, number uint32) (online, readOnly bool) {
	for _, d := range n.Tree().Disks {
		if d.Number == number {
			return d.IsOnline(), d.IsReadOnly()
		}
	}
	return false, false
}

// TestStageFromEveryState: from every half-done state staging gives the volume, keeps what it holds, and leaves
// everything else on the node as it was. Staging again gives the same.
func TestStageFromEveryState(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	check(t, "staging another disk", m.FormatAndMount("1", staging, "", nil))
	for i, state := range []struct {
		name string
		make func(subject)
		data bool // a file must survive
	}{
		{name: "raw and offline", make: func(s subject) { s.SetDiskOnline(s.disk, false) }},
		{name: "raw", make: func(subject) {}},
		{name: "initialised", make: func(s subject) {
			defer s.Fail(csiproxytest.Calls{Function: "DeviceIoControl", ControlCode: "IOCTL_DISK_SET_DRIVE_LAYOUT_EX"},
				csiproxytest.ERROR_IO_DEVICE)()
			if err := s.partition(t); err == nil {
				t.Error("the disk was partitioned although Windows wrote no partition")
			}
		}},
		{name: "raw and read-only", make: func(s subject) { s.SetDiskReadOnly(s.disk, true) }},
		{name: "formatted", data: true, make: func(s subject) {
			s.withData(t, s.at)
			check(t, "unstaging", m.Unstage(t.Context(), s.at))
		}},
		{name: "partitioned", make: func(s subject) { check(t, "partitioning", s.partition(t)) }},
		{name: "mounted elsewhere", data: true, make: func(s subject) { s.withData(t, s.other) }},
		{name: "mounted", data: true, make: func(s subject) { s.withData(t, s.at) }},
		{name: "grown", data: true, make: func(s subject) {
			s.withData(t, s.at)
			s.GrowDisk(s.disk, 2<<30)
		}},
		{name: "offline under its mount point", data: true, make: func(s subject) {
			s.withData(t, s.at)
			s.SetDiskOnline(s.disk, false)
		}},
		{name: "in the place of a disk that was pulled out", make: func(s subject) {
			lost := s.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, Formatted: true})
			check(t, "staging the other disk", m.FormatAndMount(fmt.Sprint(lost), s.at, "", nil))
			s.DetachDisk(lost)
		}},
	} {
		s := subject{Node: n, m: m, serial: fmt.Sprintf("s%d-", i)}
		s.at, s.other = `C:\var\lib\kubelet\plugins\`+s.serial, `C:\var\lib\kubelet\plugins\other-`+s.serial
		s.disk = n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: s.serial})
		state.make(s)
		others := s.others(t)
		device := s.stage(t, s.at, mounter.StageOptions{})
		if again := s.stage(t, s.at, mounter.StageOptions{}); again != device || device.Disk != s.disk {
			t.Errorf("%s: staged %+v, and again %+v", state.name, device, again)
		}
		if device.Size.FileSystem < device.Size.Disk-32<<20 {
			t.Errorf("%s: the volume does not fill its disk: %+v", state.name, device)
		}
		for what, at := range map[string]string{"the target": s.at, "the other mount point": s.other} {
			there, err := m.DeviceOf(t.Context(), at)
			if (err == nil || at == s.at) && (there.Volume != device.Volume || there.Disk != s.disk) {
				t.Errorf("%s: at %s is %+v (%v), and %+v was staged", state.name, what, there, err, device)
			}
		}
		if state.data {
			if got := s.ReadFile(s.at + `\data`); got != "precious" {
				t.Errorf("%s: the file holds %q", state.name, got)
			}
		}
		if now := s.others(t); now != others {
			t.Errorf("%s: the other disks are\n%s\nand were\n%s", state.name, now, others)
		}
		check(t, "unstaging", m.Unstage(t.Context(), s.at))
		n.DetachDisk(s.disk)
	}
}

// TestStageAccess: what the options allow is in the list of a new volume; a volume that holds a file keeps its list.
func TestStageAccess(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	for i, step := range []struct {
		access []mounter.Access
		want   mounter.AccessResult
	}{
		{[]mounter.Access{{SID: "S-1-5-93-2-2", Rights: mounter.Modify}}, mounter.AccessAdded},
		{[]mounter.Access{{SID: "S-1-5-93-2-2", Rights: mounter.Modify}}, mounter.AccessPresent},
		{nil, mounter.AccessNotAsked},
		{[]mounter.Access{{SID: "S-1-5-93-2-2", Rights: mounter.Full}}, mounter.AccessNotAdded},
	} {
		device, err := m.StageDisk(t.Context(), mounter.ByNumber(1), staging, mounter.StageOptions{Access: step.access})
		if err != nil || device.Access != step.want {
			t.Errorf("%d: staged with %v: %v, %v, want %v", i, step.access, device.Access, err, step.want)
		}
		if i == 2 {
			n.WriteFile(staging+`\data`, "precious")
		}
	}
	_, err := m.StageDisk(t.Context(), mounter.ByNumber(1), staging, mounter.StageOptions{Access: []mounter.Access{{}}})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("an entry without an account: %v", err)
	}
}

// others describes every disk but the subject's.
func (s subject) others(t *testing.T) string {
	t.Helper()
	text := ""
	for _, d := range s.Tree().Disks {
		if d.Number != s.disk {
			line, err := json.Marshal(d)
			check(t, "describing a disk", err)
			text += string(line) + "\n"
		}
	}
	return text + s.DiskDigest(1)
}

// TestStageRefuses: a driver can tell the refusals apart.
func TestStageRefuses(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	image := filepath.Join(t.TempDir(), "image")
	check(t, "writing an image", os.WriteFile(image, bytes.Repeat([]byte("data"), 2<<20), 0o600))
	n.AttachDisk(csiproxytest.Disk{ImagePath: image, SerialNumber: "foreign"})
	check(t, "staging one disk", m.FormatAndMount("1", publish, "", nil))
	for want, c := range map[error]struct {
		match  mounter.Match
		target string
	}{
		csiproxy.ErrNotBlank:           {mounter.BySerialNumber("foreign"), staging},
		csiproxy.ErrOtherVolumeMounted: {mounter.ByNumber(2), publish},
		csiproxy.ErrOutsideWorkingDirs: {mounter.ByNumber(2), `C:\Windows\there`},
	} {
		if _, err := m.StageDisk(t.Context(), c.match, c.target, mounter.StageOptions{}); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// TestStageReadOnly: a volume that must not be written is mounted, and nothing on its disk changes, neither its size
// nor a byte.
func TestStageReadOnly(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	s := subject{Node: n, m: m, disk: 1, serial: serial}
	s.withData(t, staging)
	check(t, "unstaging", m.Unstage(t.Context(), staging))
	n.GrowDisk(1, 12<<30)
	n.SetDiskOnline(1, true)
	n.SetDiskReadOnly(1, true)
	before := n.DiskDigest(1)
	for range 2 {
		s.stage(t, staging, mounter.StageOptions{ReadOnly: true})
	}
	if got := n.ReadFile(staging + `\data`); got != "precious" {
		t.Errorf("the volume holds %q", got)
	}
	if _, readOnly := diskOf(n, 1); !readOnly || n.DiskDigest(1) != before {
		t.Errorf("the disk is read-only: %t; or its content changed", readOnly)
	}
}

// TestSizes: a volume grows when its disk has grown, and not before.
func TestSizes(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	ctx, s := t.Context(), subject{Node: n, m: m, serial: serial}
	device := s.stage(t, staging, mounter.StageOptions{})
	check(t, "publishing", m.Publish(ctx, staging, publish))
	if at, err := m.DeviceOf(ctx, publish); err != nil || at.Disk != 1 || at.Volume != device.Volume {
		t.Errorf("DeviceOf a link = %+v, %v, want %+v", at, err, device)
	}
	size := device.Size
	if size.Disk != 10<<30 || size.FileSystem >= size.Disk || size.FileSystem < size.Disk-32<<20 {
		t.Errorf("the size is %+v, want a disk of 10 GiB nearly filled", size)
	}
	if same, err := m.Expand(ctx, publish, 0); err != nil || same != size {
		t.Errorf("expanding a volume that fills its disk: %+v, %v, want %+v", same, err, size)
	}
	if _, err := m.Expand(ctx, publish, 12<<30); !errors.Is(err, csiproxy.ErrDiskTooSmall) ||
		csicode.Of("NodeExpandVolume", err) != codes.Unavailable { // others make kubelet give up
		t.Errorf("expanding before the cloud has: %v, want ErrDiskTooSmall, Unavailable for kubelet", err)
	}
	n.GrowDisk(1, 12<<30)
	kept := s.stage(t, staging, mounter.StageOptions{KeepSize: true}).Size
	if kept.FileSystem != size.FileSystem || kept.Disk != 12<<30 {
		t.Errorf("KeepSize left %+v", kept)
	}
	for range 2 {
		grown, err := m.Expand(ctx, publish, 12<<30)
		if err != nil || grown.Disk != 12<<30 || grown.FileSystem-size.FileSystem != 2<<30 {
			t.Errorf("Expand = %+v, %v, want 2 GiB more than %+v", grown, err, size)
		}
	}
	_, err := n.Client().Volume.ResizeVolume(ctx,
		&volumeapi.ResizeVolumeRequest{VolumeId: device.Volume, SizeBytes: 20 << 30})
	if !errors.Is(err, csiproxy.ErrSizeOutOfRange) {
		t.Errorf("more than the disk has: %v, want ErrSizeOutOfRange", err)
	}
	n.SetDiskReadOnly(1, true)
	n.GrowDisk(1, 13<<30)
	if _, err := m.Expand(ctx, publish, 13<<30); !errors.Is(err, csiproxy.ErrDiskReadOnly) {
		t.Errorf("expanding a read-only disk: %v, want ErrDiskReadOnly", err)
	}
	const plain = `C:\var\lib\kubelet\plugins`
	const nothing = "neither a volume nor a share is mounted at " + plain
	if _, err := m.DeviceOf(ctx, plain); !errors.Is(err, csiproxy.ErrNotMounted) ||
		!strings.HasSuffix(err.Error(), nothing) {
		t.Errorf("DeviceOf a plain directory: %v, want ErrNotMounted", err)
	}
	_, err = m.Expand(ctx, plain, 0)
	if !errors.Is(err, csiproxy.ErrNotMounted) || !strings.HasSuffix(err.Error(), nothing) {
		t.Errorf("expanding a plain directory: %v, want ErrNotMounted", err)
	}
	_, coded := csicode.Interceptor(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/csi.v1.Node/NodeExpandVolume"},
		func(context.Context, any) (any, error) { return nil, fmt.Errorf("vol-1: %w", err) })
	if s := status.Convert(coded); s.Code() != codes.NotFound || len(s.Details()) == 0 ||
		s.Message() != "vol-1: "+err.Error() {
		t.Errorf("the plugin's error is %v with %v, want NotFound with the reason", s, s.Details())
	}
	n.DetachDisk(1)
	if at, err := m.DeviceOf(ctx, publish); !errors.Is(err, csiproxy.ErrDiskNotFound) || at.Volume != device.Volume {
		t.Errorf("DeviceOf a volume whose disk is gone: %+v, %v, want ErrDiskNotFound and its id", at, err)
	}
}

// TestStageWhere: a driver's own description picks a disk, and a disk that takes its number before the agent is called
// is left alone.
func TestStageWhere(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	spare := n.DetachDisk(n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "spare"}))
	number := n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "expected", Adapter: 8})
	for _, swap := range []bool{true, false} {
		if !swap {
			n.DetachDisk(number)
			n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "expected", Adapter: 8})
		}
		device, err := m.StageDisk(t.Context(), mounter.Where("LUN 0 at adapter 8", func(d mounter.Disk) bool {
			fits := d.LUN == "0" && d.Adapter == "8"
			if fits && swap {
				n.DetachDisk(number)
				if got := n.AttachDisk(csiproxytest.Disk{ImagePath: spare, Offline: true}); got != number {
					t.Errorf("the other disk has number %d, not %d", got, number)
				}
			}
			return fits
		}), staging, mounter.StageOptions{})
		failure := (*csiproxy.Error)(nil)
		if swap && (!errors.As(err, &failure) || failure.Reason != reason.DiskChanged) {
			t.Errorf("another disk took the number: %v, want DISK_CHANGED", err)
		}
		if online, _ := diskOf(n, number); online == swap {
			t.Errorf("swapped: %t, the disk is online: %t", swap, online)
		}
		if !swap && (err != nil || device.Disk != number) {
			t.Errorf("staged %+v, %v, want disk %d", device, err, number)
		}
	}
}

// TestStageBlankSize: in a lab the size must do, and a disk with anything on it is not picked.
func TestStageBlankSize(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	n.AttachDisk(csiproxytest.Disk{SizeBytes: 3 << 30, Formatted: true})
	n.AttachDisk(csiproxytest.Disk{SizeBytes: 3 << 30, Offline: true})
	blank := n.AttachDisk(csiproxytest.Disk{SizeBytes: 3 << 30, SerialNumber: "blank"})
	device, err := m.StageDisk(t.Context(), mounter.ByBlankSize(3<<30), staging, mounter.StageOptions{})
	if err != nil || device.Disk != blank {
		t.Errorf("staged disk %d, %v, want %d", device.Disk, err, blank)
	}
	found, err := m.Disks(t.Context())
	check(t, "listing the disks", err)
	if len(found) != 6 || found[blank].Number != blank || found[blank].SerialNumber != "blank" {
		t.Errorf("the disks are %v", found)
	}
}
