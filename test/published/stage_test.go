// SPDX-License-Identifier: Apache-2.0

//go:build unix

package published

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/testnode"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

const elsewhere = `C:\var\lib\kubelet\plugins\elsewhere`

// A subject is a disk of 1 GiB that a test stages at a place of its own.
type subject struct {
	*csiproxytest.Node
	m                 *mounter.Mounter
	disk              uint32
	serial, at, other string
}

func (s subject) stage(t *testing.T) (mounter.Device, error) {
	t.Helper()
	return s.m.StageDisk(t.Context(), mounter.BySerialNumber(s.serial), s.at, mounter.StageOptions{})
}

func (s subject) partition(t *testing.T) error {
	t.Helper()
	_, err := s.Disk.PartitionDisk(t.Context(), &diskapi.PartitionDiskRequest{DiskNumber: s.disk})
	return err
}

// withData stages the disk somewhere and writes a file.
func (s subject) withData(t *testing.T, target string) {
	t.Helper()
	check(t, "staging before", s.m.MountDisk(t.Context(), s.disk, target))
	s.WriteFile(target+`\data`, "precious")
}

// halfDones are the states in which a disk may be when a driver stages it. A short run takes every second one.
var halfDones = []struct {
	name string
	make func(*testing.T, subject)
	data bool // a file must survive
}{
	{name: "raw and offline", make: func(_ *testing.T, s subject) { s.SetDiskOnline(s.disk, false) }},
	{name: "raw", make: func(*testing.T, subject) {}},
	{name: "initialised", make: func(t *testing.T, s subject) {
		defer s.Fail(csiproxytest.Calls{Function: "DeviceIoControl", ControlCode: "IOCTL_DISK_SET_DRIVE_LAYOUT_EX"},
			"ERROR_IO_DEVICE")()
		if err := s.partition(t); err == nil {
			t.Error("the disk was partitioned although Windows wrote no partition")
		}
	}},
	{name: "raw and read-only", make: func(_ *testing.T, s subject) { s.SetDiskReadOnly(s.disk, true) }},
	{name: "formatted", data: true, make: func(t *testing.T, s subject) {
		s.withData(t, s.at)
		check(t, "unmounting", s.m.UnmountDevice(t.Context(), s.at))
	}},
	{name: "partitioned", make: func(t *testing.T, s subject) { check(t, "partitioning", s.partition(t)) }},
	{name: "mounted elsewhere", data: true, make: func(t *testing.T, s subject) { s.withData(t, s.other) }},
	{name: "mounted", data: true, make: func(t *testing.T, s subject) { s.withData(t, s.at) }},
	{name: "grown", data: true, make: func(t *testing.T, s subject) {
		s.withData(t, s.at)
		s.GrowDisk(s.disk, 2<<30)
	}},
	{name: "offline under its mount point", data: true, make: func(t *testing.T, s subject) {
		s.withData(t, s.at)
		s.SetDiskOnline(s.disk, false)
	}},
	{name: "in the place of a disk that was pulled out", make: func(t *testing.T, s subject) {
		lost := s.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, Formatted: true})
		check(t, "staging the other disk", s.m.MountDisk(t.Context(), lost, s.at))
		s.DetachDisk(lost)
	}},
}

// TestStageFromEveryState: from every half-done state, with a failure before or after each call of the API, staging
// again gives the volume, keeps what it holds, and leaves everything else on the node as it was.
func TestStageFromEveryState(t *testing.T) {
	t.Parallel()
	n, m := startSingle(t)
	check(t, "staging another disk", m.MountDisk(t.Context(), 1, staging))
	for i, state := range halfDones {
		if !testnode.Sampled(t, i, 0, 2) {
			continue
		}
		calls := 0 // of a stage that nothing disturbs, which is number -1
		for number := -1; number < 2*calls; number++ {
			if number >= 0 && !testnode.Sampled(t, number, 5*i, 2*calls) {
				continue
			}
			s := subject{Node: n, m: m, serial: fmt.Sprintf("s%d-%d-", i, number)}
			s.at, s.other = `C:\var\lib\kubelet\plugins\`+s.serial, `C:\var\lib\kubelet\plugins\other-`+s.serial
			s.disk = n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: s.serial})
			state.make(t, s)
			others := s.others()

			what := fmt.Sprintf("%s, call %d fails (after its effect: %v)", state.name, number/2, number%2 == 1)
			fail := n.FailRPC
			if number%2 == 1 {
				fail = n.FailRPCAfter
			}
			if number < 0 {
				calls = len(callsOf(n, func() { _, _ = s.stage(t) }))
			} else {
				end := fail(csiproxytest.Calls{Method: "*", Skip: number / 2, Times: 1}, codes.Internal, "the node failed")
				_, _ = s.stage(t)
				end()
			}
			device, err := s.stage(t)
			check(t, what+": staging again", err)
			s.check(t, what, device, state.data)
			if now := s.others(); now != others {
				t.Errorf("%s: the other disks are\n%s\nand were\n%s", what, now, others)
			}
			check(t, "unmounting", m.UnmountDevice(t.Context(), s.at))
			n.DetachDisk(s.disk)
		}
	}
}

// check checks what staging came to.
func (s subject) check(t *testing.T, what string, device mounter.Device, data bool) {
	t.Helper()
	there, err := s.m.DeviceOf(t.Context(), s.at)
	if err != nil || there != device || device.Disk != s.disk {
		t.Errorf("%s: %+v is mounted (%v), and %+v was staged", what, there, err, device)
	}
	if data {
		if got := s.ReadFile(s.at + `\data`); got != "precious" {
			t.Errorf("%s: the file holds %q", what, got)
		}
	}
	if also, err := s.m.DeviceOf(t.Context(), s.other); err == nil && also != device {
		t.Errorf("%s: %+v is at the other mount point", what, also)
	}
	if need, err := s.m.NeedResize(t.Context(), s.at); need || err != nil {
		t.Errorf("%s: the volume does not fill its disk: %v", what, err)
	}
}

// others describes every disk but the subject's.
func (s subject) others() string {
	text := ""
	for _, d := range s.Tree().GetDisks() {
		if d.GetNumber() != s.disk {
			text += d.String() + "\n"
		}
	}
	return text + s.DiskDigest(1)
}

// TestStageRefuses: what is on a disk or in a place already is not overwritten, and the refusal changes nothing.
func TestStageRefuses(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	foreign := n.AttachDisk(csiproxytest.Disk{ImagePath: foreignImage(t), SerialNumber: "foreign"})
	check(t, "staging one disk", m.MountDisk(t.Context(), 1, elsewhere))
	unformatted := subject{Node: n, disk: n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "unformatted"})}
	check(t, "partitioning", unformatted.partition(t))
	digests := func() string {
		return n.DiskDigest(foreign) + " " + n.DiskDigest(unformatted.disk) + " " + n.DiskDigest(2)
	}
	before := digests()
	for name, c := range map[string]struct {
		match   mounter.Match
		target  string
		options mounter.StageOptions
		want    error // nil: any
	}{
		"foreign data": {mounter.BySerialNumber("foreign"), staging, mounter.StageOptions{}, csiproxy.ErrNotBlank},
		"foreign data read-only": {mounter.BySerialNumber("foreign"), staging, mounter.StageOptions{ReadOnly: true},
			mounter.ErrNotFormatted},
		"a raw disk read-only": {mounter.BySerialNumber("vol0123456789abcdef2"), staging,
			mounter.StageOptions{ReadOnly: true}, mounter.ErrNotFormatted},
		"no file system": {mounter.BySerialNumber("unformatted"), staging, mounter.StageOptions{ReadOnly: true},
			mounter.ErrNotFormatted},
		"a target in use": {mounter.BySerialNumber("vol0123456789abcdef2"), elsewhere, mounter.StageOptions{},
			csiproxy.ErrOtherVolumeMounted},
		"the system disk": {mounter.BySerialNumber("EMU-DISK-0000"), staging, mounter.StageOptions{}, nil},
		"two disks": {mounter.BySerialNumber("vol0123456789abcdef"), staging,
			mounter.StageOptions{}, mounter.ErrAmbiguous},
		"a path of another kind": {mounter.BySerialNumber(serial), `C:\Windows\there`, mounter.StageOptions{},
			csiproxy.ErrOutsideWorkingDirs},
	} {
		if _, err := m.StageDisk(t.Context(), c.match, c.target, c.options); err == nil || c.want != nil &&
			!errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if after := digests(); after != before {
		t.Errorf("the disks were %s and are %s", before, after)
	}
	if mounted, err := m.PathExists(t.Context(), staging); mounted || err != nil {
		t.Errorf("something is at the target afterwards: %v", err)
	}
}

// TestStageReadOnly: a volume that must not be written is mounted, and nothing on its disk changes, neither its size
// nor a byte.
func TestStageReadOnly(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	subject{Node: n, m: m, disk: 1}.withData(t, staging)
	check(t, "unmounting", m.UnmountDevice(t.Context(), staging))
	n.GrowDisk(1, 12<<30)
	n.SetDiskOnline(1, true)
	n.SetDiskReadOnly(1, true)
	before := n.DiskDigest(1)
	for range 2 {
		_, err := m.StageDisk(t.Context(), mounter.BySerialNumber(serial), staging, mounter.StageOptions{ReadOnly: true})
		check(t, "staging read-only", err)
	}
	if got := n.ReadFile(staging + `\data`); got != "precious" {
		t.Errorf("the volume holds %q", got)
	}
	if after := n.DiskDigest(1); after != before {
		t.Error("the disk's content changed")
	}
	for _, d := range n.Tree().GetDisks() {
		if d.GetNumber() == 1 && !d.GetReadOnly() {
			t.Error("the disk is writable now")
		}
	}
}

// TestSizes: a volume grows when its disk has grown, and not before.
func TestSizes(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	ctx := t.Context()
	device, err := m.StageDisk(ctx, mounter.ByLUN(1), staging, mounter.StageOptions{})
	check(t, "staging", err)
	check(t, "publishing", m.Mount(staging, publish, "", nil))
	if at, err := m.DeviceOf(ctx, publish); err != nil || at != device {
		t.Errorf("DeviceOf a link = %+v, %v, want %+v", at, err, device)
	}
	size, err := m.SizeOf(ctx, publish)
	if err != nil || size.Disk != 10<<30 || size.FileSystem >= size.Disk || size.FileSystem < size.Disk-32<<20 {
		t.Errorf("SizeOf = %+v, %v, want a disk of 10 GiB nearly filled", size, err)
	}
	if same, err := m.ExpandTo(ctx, publish, 12<<30); !errors.Is(err, mounter.ErrDiskTooSmall) || same != size {
		t.Errorf("expanding before the cloud has: %+v, %v, want ErrDiskTooSmall", same, err)
	}
	n.GrowDisk(1, 12<<30)
	if need, err := m.NeedResize(ctx, publish); !need || err != nil {
		t.Errorf("NeedResize = %v, %v after the disk grew", need, err)
	}
	_, err = m.StageDisk(ctx, mounter.ByLUN(1), staging, mounter.StageOptions{KeepSize: true})
	check(t, "staging with the size kept", err)
	if kept, err := m.SizeOf(ctx, publish); err != nil || kept.FileSystem != size.FileSystem {
		t.Errorf("KeepSize left %+v, %v", kept, err)
	}
	for range 2 {
		grown, err := m.ExpandTo(ctx, publish, 12<<30)
		if err != nil || grown.Disk != 12<<30 || grown.FileSystem-size.FileSystem != 2<<30 {
			t.Errorf("ExpandTo = %+v, %v, want 2 GiB more than %+v", grown, err, size)
		}
	}
	if need, err := m.NeedResize(ctx, publish); need || err != nil {
		t.Errorf("NeedResize = %v, %v afterwards", need, err)
	}
	_, err = n.Client().Volume.ResizeVolume(ctx,
		&volumeapi.ResizeVolumeRequest{VolumeId: device.Volume, SizeBytes: 20 << 30})
	if !errors.Is(err, csiproxy.ErrSizeOutOfRange) {
		t.Errorf("more than the disk has: %v, want ErrSizeOutOfRange", err)
	}
	n.SetDiskReadOnly(1, true)
	n.GrowDisk(1, 13<<30)
	if _, err := m.ExpandTo(ctx, publish, 13<<30); !errors.Is(err, csiproxy.ErrDiskReadOnly) {
		t.Errorf("expanding a read-only disk: %v, want ErrDiskReadOnly", err)
	}
	if _, err := m.DeviceOf(ctx, `C:\var\lib\kubelet\plugins`); !errors.Is(err, csiproxy.ErrNotMounted) {
		t.Errorf("DeviceOf a plain directory: %v, want ErrNotMounted", err)
	}
	n.DetachDisk(1)
	if at, err := m.DeviceOf(ctx, publish); !errors.Is(err, csiproxy.ErrDiskNotFound) || at.Volume != device.Volume {
		t.Errorf("DeviceOf a volume whose disk is gone: %+v, %v, want ErrDiskNotFound and its id", at, err)
	}
	_, err = n.Volume.GetVolumeStats(ctx, &volumeapi.GetVolumeStatsRequest{VolumeId: device.Volume})
	if err == nil {
		t.Error("the volume is still there")
	}
}

// TestStageReadsTheDiskAgain: a disk that comes under the number of the one that matched, while it is being staged, is
// neither partitioned nor formatted, nor brought online.
func TestStageReadsTheDiskAgain(t *testing.T) {
	t.Parallel()
	n, m := startSingle(t)
	for name, c := range map[string]struct {
		after       string // the call after which the disks are swapped
		partitioned bool
		online      bool // the other disk already is
	}{
		"before it is partitioned": {after: "volume/GetVolumeIDFromTargetPath"},
		"before it is online":      {after: "disk/PartitionDisk", partitioned: true},
		"before it is formatted":   {after: "disk/SetDiskState", partitioned: true, online: true},
	} {
		number := n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "expected"})
		spare := subject{Node: n, disk: n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "spare"})}
		if c.partitioned {
			check(t, "partitioning the other disk", spare.partition(t))
		}
		image := n.DetachDisk(spare.disk)

		reached, release := n.HangAfter(csiproxytest.Calls{Method: c.after})
		staged := make(chan error, 1)
		go func() {
			_, err := m.StageDisk(t.Context(), mounter.BySerialNumber("expected"), staging, mounter.StageOptions{})
			staged <- err
		}()
		<-reached
		n.DetachDisk(number)
		if got := n.AttachDisk(csiproxytest.Disk{ImagePath: image, Offline: !c.online, ReadOnly: !c.online}); got != number {
			t.Fatalf("the other disk has number %d, not %d", got, number)
		}
		before := n.DiskDigest(number)
		release()
		if err := <-staged; !errors.Is(err, csiproxy.ErrDiskNotFound) ||
			!strings.Contains(err.Error(), "serial number spare") {
			t.Errorf("swapped %s: %v, want ErrDiskNotFound and the disks that there are", name, err)
		}
		if n.DiskDigest(number) != before {
			t.Errorf("swapped %s, the other disk was changed", name)
		}
		for _, d := range n.Tree().GetDisks() {
			if d.GetNumber() == number && (d.GetOnline() != c.online || d.GetReadOnly() == c.online) {
				t.Errorf("swapped %s, the other disk is online: %t, read-only: %t", name, d.GetOnline(), d.GetReadOnly())
			}
		}
		if mounted, err := m.DeviceOf(t.Context(), staging); !errors.Is(err, csiproxy.ErrNotMounted) &&
			!errors.Is(err, csiproxy.ErrPathNotFound) {
			t.Errorf("swapped %s, %+v is mounted: %v", name, mounted, err)
		}
		n.DetachDisk(number)
	}
}

// foreignImage returns the image of a disk that holds something without a partition table.
func foreignImage(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "image")
	content := make([]byte, 8<<20)
	copy(content[1<<20:], "another program's data")
	check(t, "writing an image", os.WriteFile(file, content, 0o600))
	return file
}

// startSingle returns a mounter on a node whose agent does no steps in one call, for tests that disturb the calls of
// which they are made.
func startSingle(t *testing.T) (*csiproxytest.Node, *mounter.Mounter) {
	t.Helper()
	n := csiproxytest.Start(t, csiproxytest.Options{APIs: []string{"nodesteps=off"}})
	return n, mounter.New(n.Client())
}
