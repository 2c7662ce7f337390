// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest/fake"
)

const (
	dir   = `C:\var\lib\kubelet\plugins\example`
	other = `C:\var\lib\kubelet\pods\1`
	size  = 1 << 30
)

// A tried is a node on which the suite runs, with two raw disks of its own.
type tried struct {
	t      *testing.T
	client *csiproxy.Client
	disks  [2]uint32
}

// said returns what a call answered: the value, or the code and the reason.
func said(value any, err error) string {
	failure := (*csiproxy.Error)(nil)
	if errors.As(err, &failure) {
		return failure.Code.String() + " " + failure.Reason
	}
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(value)
}

func (n tried) ctx() context.Context { return n.t.Context() }

func (n tried) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// volume makes a volume of a disk.
func (n tried) volume(disk uint32) string {
	n.t.Helper()
	_, err := n.client.Disk.PartitionDisk(n.ctx(), &csiproxy.PartitionDiskRequest{DiskNumber: disk})
	n.must(err)
	r, err := n.client.Volume.ListVolumesOnDisk(n.ctx(), &csiproxy.ListVolumesOnDiskRequest{DiskNumber: disk})
	n.must(err)
	_, err = n.client.Volume.FormatVolume(n.ctx(), &csiproxy.FormatVolumeRequest{VolumeId: r.GetVolumeIds()[0]})
	n.must(err)
	return r.GetVolumeIds()[0]
}

func (n tried) mount(volume, path string) error {
	_, err := n.client.Volume.MountVolume(n.ctx(), &csiproxy.MountVolumeRequest{VolumeId: volume, TargetPath: path})
	return err
}

func (n tried) mkdir(path string) error {
	_, err := n.client.Filesystem.Mkdir(n.ctx(), &csiproxy.MkdirRequest{Path: path})
	return err
}

func (n tried) rmdir(path string, force bool) error {
	_, err := n.client.Filesystem.Rmdir(n.ctx(), &csiproxy.RmdirRequest{Path: path, Force: force})
	return err
}

func (n tried) link(from, to string) error {
	_, err := n.client.Filesystem.CreateSymlink(n.ctx(), &csiproxy.CreateSymlinkRequest{SourcePath: to, TargetPath: from})
	return err
}

func (n tried) exists(path string) string {
	r, err := n.client.Filesystem.PathExists(n.ctx(), &csiproxy.PathExistsRequest{Path: path})
	return said(r.GetExists(), err)
}

func (n tried) mounted(path string) (string, error) {
	r, err := n.client.Volume.GetVolumeIDFromTargetPath(n.ctx(),
		&csiproxy.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return r.GetVolumeId(), err
}

func suite() map[string]struct {
	want string
	try  func(n tried) string
} {
	return map[string]struct {
		want string
		try  func(n tried) string
	}{
		"a disk has its size": {"1073741824", func(n tried) string {
			r, err := n.client.Disk.GetDiskStats(n.ctx(), &csiproxy.GetDiskStatsRequest{DiskNumber: n.disks[0]})
			return said(r.GetTotalBytes(), err)
		}},
		"a disk has its serial number": {"vol-2", func(n tried) string {
			r, err := n.client.Disk.ListDiskIDs(n.ctx(), &csiproxy.ListDiskIDsRequest{})
			return said(r.GetDiskIDs()[n.disks[1]].GetSerialNumber(), err)
		}},
		"there is no such disk": {"NotFound DISK_NOT_FOUND", func(n tried) string {
			r, err := n.client.Disk.GetDiskState(n.ctx(), &csiproxy.GetDiskStateRequest{DiskNumber: 99})
			return said(r, err)
		}},
		"a raw disk has no volumes": {"0", func(n tried) string {
			r, err := n.client.Volume.ListVolumesOnDisk(n.ctx(), &csiproxy.ListVolumesOnDiskRequest{DiskNumber: n.disks[0]})
			return said(len(r.GetVolumeIds()), err)
		}},
		"a raw disk has no partition": {"FailedPrecondition DISK_RAW", func(n tried) string {
			r, err := n.client.Volume.ListVolumesOnDisk(n.ctx(),
				&csiproxy.ListVolumesOnDiskRequest{DiskNumber: n.disks[0], PartitionNumber: 1})
			return said(r, err)
		}},
		"a disk goes offline": {"false", func(n tried) string {
			n.volume(n.disks[0])
			_, err := n.client.Disk.SetDiskState(n.ctx(), &csiproxy.SetDiskStateRequest{DiskNumber: n.disks[0]})
			n.must(err)
			r, err := n.client.Disk.GetDiskState(n.ctx(), &csiproxy.GetDiskStateRequest{DiskNumber: n.disks[0]})
			return said(r.GetIsOnline(), err)
		}},
		"a volume is formatted": {"true", func(n tried) string {
			r, err := n.client.Volume.IsVolumeFormatted(n.ctx(),
				&csiproxy.IsVolumeFormattedRequest{VolumeId: n.volume(n.disks[0])})
			return said(r.GetFormatted(), err)
		}},
		"a volume knows its disk": {"true", func(n tried) string {
			r, err := n.client.Volume.GetDiskNumberFromVolumeID(n.ctx(),
				&csiproxy.GetDiskNumberFromVolumeIDRequest{VolumeId: n.volume(n.disks[1])})
			return said(r.GetDiskNumber() == n.disks[1], err)
		}},
		"there is no such volume": {"NotFound VOLUME_NOT_FOUND", func(n tried) string {
			return said(nil, n.mount(`\\?\Volume{11111111-1111-1111-1111-111111111111}\`, dir))
		}},
		"a volume cannot outgrow its disk": {"OutOfRange SIZE_OUT_OF_RANGE", func(n tried) string {
			r, err := n.client.Volume.ResizeVolume(n.ctx(),
				&csiproxy.ResizeVolumeRequest{VolumeId: n.volume(n.disks[0]), SizeBytes: 1 << 40})
			return said(r, err)
		}},
		"a volume is mounted, twice": {"true", func(n tried) string {
			id := n.volume(n.disks[0])
			n.must(n.mount(id, dir))
			n.must(n.mount(id, dir))
			got, err := n.mounted(dir)
			return said(strings.EqualFold(got, id), err)
		}},
		"another volume is mounted there": {"FailedPrecondition OTHER_VOLUME_MOUNTED", func(n tried) string {
			n.must(n.mount(n.volume(n.disks[0]), dir))
			return said(nil, n.mount(n.volume(n.disks[1]), dir))
		}},
		"content is not mounted over": {"FailedPrecondition DIRECTORY_NOT_EMPTY", func(n tried) string {
			n.must(n.mkdir(dir + `\sub`))
			return said(nil, n.mount(n.volume(n.disks[0]), dir))
		}},
		"a volume is unmounted, twice": {"NotFound NOT_MOUNTED", func(n tried) string {
			id := n.volume(n.disks[0])
			n.must(n.mount(id, dir))
			for range 2 {
				_, err := n.client.Volume.UnmountVolume(n.ctx(), &csiproxy.UnmountVolumeRequest{VolumeId: id, TargetPath: dir})
				n.must(err)
			}
			return said(n.mounted(dir))
		}},
		"a path outside is refused": {"InvalidArgument PATH_OUTSIDE_WORKING_DIRECTORIES", func(n tried) string {
			return said(nil, n.mkdir(`C:\Windows\x`))
		}},
		"a path exists in any case": {"true", func(n tried) string {
			n.must(n.mkdir(dir))
			return n.exists(strings.ToUpper(dir))
		}},
		"a path that was removed": {"false", func(n tried) string {
			n.must(n.mkdir(dir))
			n.must(n.rmdir(dir, false))
			return n.exists(dir)
		}},
		"content is not removed": {"FailedPrecondition DIRECTORY_NOT_EMPTY", func(n tried) string {
			n.must(n.mkdir(dir + `\sub`))
			return said(nil, n.rmdir(dir, false))
		}},
		"content is removed by force": {"false", func(n tried) string {
			n.must(n.mkdir(dir + `\sub`))
			n.must(n.rmdir(dir, true))
			return n.exists(dir + `\sub`)
		}},
		"a link leads to the volume": {"true", func(n tried) string {
			id := n.volume(n.disks[0])
			n.must(n.mount(id, dir))
			n.must(n.link(other, dir))
			n.must(n.link(other, dir))
			got, err := n.mounted(other)
			return said(strings.EqualFold(got, id), err)
		}},
		"a directory is in the way of a link": {"AlreadyExists PATH_EXISTS", func(n tried) string {
			n.must(n.mkdir(dir))
			n.must(n.mkdir(other))
			return said(nil, n.link(other, dir))
		}},
		"a path that is missing is no link": {"NotFound PATH_NOT_FOUND", func(n tried) string {
			r, err := n.client.Filesystem.IsSymlink(n.ctx(), &csiproxy.IsSymlinkRequest{Path: dir})
			return said(r, err)
		}},
	}
}

// TestFakeAndEmulatedNodeAgree keeps the fake from drifting away from the agent.
func TestFakeAndEmulatedNodeAgree(t *testing.T) {
	for name, c := range suite() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fake.New(fake.Disk{SizeBytes: size, SerialNumber: "vol-1"}, fake.Disk{SizeBytes: size, SerialNumber: "vol-2"})
			if got := c.try(tried{t, f.Client(), [2]uint32{0, 1}}); got != c.want {
				t.Errorf("the fake says %q, want %q", got, c.want)
			}
			n := csiproxytest.Start(t, csiproxytest.Options{})
			var disks [2]uint32
			for i, serial := range []string{"vol-1", "vol-2"} {
				disks[i] = n.AttachDisk(csiproxytest.Disk{SizeBytes: size, SerialNumber: serial})
			}
			if got := c.try(tried{t, n.Client(), disks}); got != c.want {
				t.Errorf("the emulated node says %q, want %q", got, c.want)
			}
		})
	}
}

func TestFailureIsKnownByItsReason(t *testing.T) {
	n := fake.New()
	n.Fail("PathExists", codes.Unavailable, reason.NotAnswering)
	_, err := n.Client().Filesystem.PathExists(t.Context(), &csiproxy.PathExistsRequest{Path: dir})
	if got := said(nil, err); got != "Unavailable "+reason.NotAnswering {
		t.Errorf("got %s", got)
	}
	n.Fail("PathExists", codes.OK, "")
	if _, err := n.Client().Filesystem.PathExists(t.Context(), &csiproxy.PathExistsRequest{Path: dir}); err != nil {
		t.Error(err)
	}
}
