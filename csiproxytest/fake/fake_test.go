// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest/fake"
)

// The arguments of the suite's steps. The volumes v0 and v1 are those of disks 0 and 1; the first step makes them.
const (
	dir   = `C:\var\lib\kubelet\plugins\example`
	other = `C:\var\lib\kubelet\pods\1`
	size  = 1 << 30
)

// suite has steps, and what the last one answers: a value, or the code and the reason. All others must succeed.
var suite = map[string]struct{ steps, want string }{
	"a disk has its size":              {"size 0", "1073741824"},
	"a disk has its serial number":     {"serial 1", "vol-2"},
	"there is no such disk":            {"online 99", "NotFound DISK_NOT_FOUND"},
	"a raw disk has no volumes":        {"volumes 0", "0"},
	"a raw disk has no partition":      {"partition 0", "FailedPrecondition DISK_RAW"},
	"a disk goes offline":              {"formatted v0; offline 0; online 0", "false"},
	"a volume is formatted":            {"formatted v0", "true"},
	"a volume knows its disk":          {"disk v1", "1"},
	"there is no such volume":          {"mount none dir", "NotFound VOLUME_NOT_FOUND"},
	"a volume cannot outgrow its disk": {"grow v0", "OutOfRange SIZE_OUT_OF_RANGE"},
	"a volume is mounted, twice":       {"mount v0 dir; mount v0 dir; mounted dir", "v0"},
	"another volume is mounted there":  {"mount v0 dir; mount v1 dir", "FailedPrecondition OTHER_VOLUME_MOUNTED"},
	"content is not mounted over":      {"mkdir sub; mount v0 dir", "FailedPrecondition DIRECTORY_NOT_EMPTY"},
	"a volume is unmounted, twice": {"mount v0 dir; unmount v0 dir; unmount v0 dir; mounted dir",
		"NotFound NOT_MOUNTED"},
	"a path outside is refused":           {"mkdir outside", "InvalidArgument PATH_OUTSIDE_WORKING_DIRECTORIES"},
	"a path exists in any case":           {"mkdir dir; exists DIR", "true"},
	"a path that was removed":             {"mkdir dir; rmdir dir; exists dir", "false"},
	"content is not removed":              {"mkdir sub; rmdir dir", "FailedPrecondition DIRECTORY_NOT_EMPTY"},
	"content is removed by force":         {"mkdir sub; rmdir dir force; exists sub", "false"},
	"a link leads to the volume":          {"mount v0 dir; link other dir; link other dir; mounted other", "v0"},
	"a directory is in the way of a link": {"mkdir dir; mkdir other; link other dir", "AlreadyExists PATH_EXISTS"},
	"a path that is missing is no link":   {"islink dir", "NotFound PATH_NOT_FOUND"},
}

// A tried is a node on which the suite runs, with two raw disks of its own.
type tried struct {
	t       *testing.T
	client  *csiproxy.Client
	disks   []uint32
	volumes map[string]string // ids by the suite's names
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

// disk returns the number of a disk of the node.
func (n tried) disk(name string) uint32 {
	if at, err := strconv.Atoi(name); err == nil && at < len(n.disks) {
		return n.disks[at]
	}
	return 99
}

// volume returns the id of a volume, which it makes the first time.
func (n tried) volume(name string) string {
	n.t.Helper()
	if disk, is := strings.CutPrefix(name, "v"); is && n.volumes[name] == "" {
		_, err := n.client.Disk.PartitionDisk(n.t.Context(), &csiproxy.PartitionDiskRequest{DiskNumber: n.disk(disk)})
		r, listed := n.client.Volume.ListVolumesOnDisk(n.t.Context(),
			&csiproxy.ListVolumesOnDiskRequest{DiskNumber: n.disk(disk)})
		if err := errors.Join(err, listed); err != nil {
			n.t.Fatal(err)
		}
		n.volumes[name] = r.GetVolumeIds()[0]
		if _, err := n.client.Volume.FormatVolume(n.t.Context(),
			&csiproxy.FormatVolumeRequest{VolumeId: n.volumes[name]}); err != nil {
			n.t.Fatal(err)
		}
	}
	return cmp.Or(n.volumes[name], `\\?\Volume{11111111-1111-1111-1111-111111111111}\`)
}

// try makes the call of a step.
func (n tried) try(step string) (any, error) {
	n.t.Helper()
	ctx, words := n.t.Context(), strings.Fields(step)
	disks, volumes, files := n.client.Disk, n.client.Volume, n.client.Filesystem
	path := map[string]string{"dir": dir, "DIR": strings.ToUpper(dir), "sub": dir + `\sub`, "other": other,
		"outside": `C:\Windows\x`}
	at, last := path[words[1]], path[words[len(words)-1]]
	switch words[0] {
	case "size":
		r, err := disks.GetDiskStats(ctx, &csiproxy.GetDiskStatsRequest{DiskNumber: n.disk(words[1])})
		return r.GetTotalBytes(), err
	case "serial":
		r, err := disks.ListDiskIDs(ctx, &csiproxy.ListDiskIDsRequest{})
		return r.GetDiskIDs()[n.disk(words[1])].GetSerialNumber(), err
	case "online":
		r, err := disks.GetDiskState(ctx, &csiproxy.GetDiskStateRequest{DiskNumber: n.disk(words[1])})
		return r.GetIsOnline(), err
	case "offline":
		return disks.SetDiskState(ctx, &csiproxy.SetDiskStateRequest{DiskNumber: n.disk(words[1])})
	case "volumes":
		r, err := volumes.ListVolumesOnDisk(ctx, &csiproxy.ListVolumesOnDiskRequest{DiskNumber: n.disk(words[1])})
		return len(r.GetVolumeIds()), err
	case "partition":
		return volumes.ListVolumesOnDisk(ctx,
			&csiproxy.ListVolumesOnDiskRequest{DiskNumber: n.disk(words[1]), PartitionNumber: 1})
	case "formatted":
		r, err := volumes.IsVolumeFormatted(ctx, &csiproxy.IsVolumeFormattedRequest{VolumeId: n.volume(words[1])})
		return r.GetFormatted(), err
	case "disk":
		r, err := volumes.GetDiskNumberFromVolumeID(ctx,
			&csiproxy.GetDiskNumberFromVolumeIDRequest{VolumeId: n.volume(words[1])})
		return slices.Index(n.disks, r.GetDiskNumber()), err
	case "grow":
		return volumes.ResizeVolume(ctx, &csiproxy.ResizeVolumeRequest{VolumeId: n.volume(words[1]), SizeBytes: 1 << 40})
	case "mount":
		return volumes.MountVolume(ctx, &csiproxy.MountVolumeRequest{VolumeId: n.volume(words[1]), TargetPath: last})
	case "unmount":
		return volumes.UnmountVolume(ctx, &csiproxy.UnmountVolumeRequest{VolumeId: n.volume(words[1]), TargetPath: last})
	case "mounted":
		r, err := volumes.GetVolumeIDFromTargetPath(ctx, &csiproxy.GetVolumeIDFromTargetPathRequest{TargetPath: at})
		for name, id := range n.volumes {
			if strings.EqualFold(id, r.GetVolumeId()) {
				return name, err
			}
		}
		return r.GetVolumeId(), err
	case "mkdir":
		return files.Mkdir(ctx, &csiproxy.MkdirRequest{Path: at})
	case "rmdir":
		return files.Rmdir(ctx, &csiproxy.RmdirRequest{Path: at, Force: len(words) > 2})
	case "link":
		return files.CreateSymlink(ctx, &csiproxy.CreateSymlinkRequest{SourcePath: last, TargetPath: at})
	case "islink":
		return files.IsSymlink(ctx, &csiproxy.IsSymlinkRequest{Path: at})
	case "exists":
		r, err := files.PathExists(ctx, &csiproxy.PathExistsRequest{Path: at})
		return r.GetExists(), err
	}
	return nil, errors.New("no such step: " + step)
}

// TestFakeAndEmulatedNodeAgree keeps the fake from drifting away from the agent.
func TestFakeAndEmulatedNodeAgree(t *testing.T) {
	for name, c := range suite {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fake.New(fake.Disk{SizeBytes: size, SerialNumber: "vol-1"}, fake.Disk{SizeBytes: size, SerialNumber: "vol-2"})
			n := csiproxytest.Start(t, csiproxytest.Options{})
			var disks []uint32
			for _, serial := range []string{"vol-1", "vol-2"} {
				disks = append(disks, n.AttachDisk(csiproxytest.Disk{SizeBytes: size, SerialNumber: serial}))
			}
			for node, on := range map[string]tried{"the fake": {t, f.Client(), []uint32{0, 1}, map[string]string{}},
				"the emulated node": {t, n.Client(), disks, map[string]string{}}} {
				steps := strings.Split(c.steps, "; ")
				for i, step := range steps {
					got, err := on.try(step)
					if i < len(steps)-1 && err != nil {
						t.Fatalf("%s: %s: %v", node, step, err)
					}
					if said := said(got, err); i == len(steps)-1 && said != c.want {
						t.Errorf("%s says %q, want %q", node, said, c.want)
					}
				}
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
