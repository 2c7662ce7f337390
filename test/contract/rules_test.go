// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"regexp"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	fs "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// The paths of these tests, as kubelet makes them: staging paths without a drive, publish paths with one.
const (
	staging  = `\var\lib\kubelet\plugins\kubernetes.io\csi\driver\abc\globalmount`
	publish  = `c:\var\lib\kubelet\pods\6b0a\volumes\kubernetes.io~csi\pvc-1\mount`
	podsPath = `C:\var\lib\kubelet\pods`
)

// ebsNothingMounted is the expression by which the AWS EBS driver recognises that nothing is mounted.
var ebsNothingMounted = regexp.MustCompile(
	`(Get-Item -Path \S+).Target, output: , error: <nil>|because it does not exist`)

func wantCode(t *testing.T, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("code %v, want %v (%v)", got, want, err)
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// formatted makes a formatted volume on a raw disk and returns its id.
func formatted(t *testing.T, n *testnode.Node, number uint32) string {
	t.Helper()
	_, err := n.Disk.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: number})
	noError(t, err)
	volumes, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: number})
	noError(t, err)
	id := volumes.GetVolumeIds()[0]
	_, err = n.Volume.FormatVolume(t.Context(), &volume.FormatVolumeRequest{VolumeId: id})
	noError(t, err)
	return id
}

// mounted makes a formatted volume on a raw disk, mounted at the staging path.
func mounted(t *testing.T, n *testnode.Node, number uint32) string {
	t.Helper()
	id := formatted(t, n, number)
	_, err := n.Volume.MountVolume(t.Context(), &volume.MountVolumeRequest{VolumeId: id, TargetPath: staging})
	noError(t, err)
	return id
}

// published makes the publish link to the staging path.
func published(t *testing.T, n *testnode.Node) {
	t.Helper()
	parent := publish[:strings.LastIndex(publish, `\`)]
	_, err := n.Filesystem.Mkdir(t.Context(), &fs.MkdirRequest{Path: parent})
	noError(t, err)
	_, err = n.Filesystem.CreateSymlink(t.Context(), &fs.CreateSymlinkRequest{SourcePath: staging, TargetPath: publish})
	noError(t, err)
}

func exists(t *testing.T, n *testnode.Node, path string) bool {
	t.Helper()
	reply, err := n.Filesystem.PathExists(t.Context(), &fs.PathExistsRequest{Path: path})
	noError(t, err)
	return reply.GetExists()
}

func isSymlink(t *testing.T, n *testnode.Node, path string) bool {
	t.Helper()
	reply, err := n.Filesystem.IsSymlink(t.Context(), &fs.IsSymlinkRequest{Path: path})
	noError(t, err)
	return reply.GetIsSymlink()
}

func mkdir(t *testing.T, n *testnode.Node, path string) {
	t.Helper()
	_, err := n.Filesystem.Mkdir(t.Context(), &fs.MkdirRequest{Path: path})
	noError(t, err)
}

func TestRule01NothingMountedText(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	get := func(path string) error {
		_, err := n.Volume.GetVolumeIDFromTargetPath(t.Context(), &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
		return err
	}
	if err := get(staging); !ebsNothingMounted.MatchString(err.Error()) {
		t.Errorf("missing path: %v", err)
	}
	mkdir(t, n, staging)
	err := get(staging)
	if !ebsNothingMounted.MatchString(err.Error()) {
		t.Errorf("plain directory: %v", err)
	}
	wantCode(t, err, codes.NotFound)

	for name, path := range map[string]string{
		"empty":                     "",
		"outside":                   `C:\Windows`,
		"outside, quoting the text": `C:\because it does not exist`,
		"UNC":                       `\\server\share`,
	} {
		if err := get(path); err == nil || ebsNothingMounted.MatchString(err.Error()) {
			t.Errorf("%s: %v reads as nothing mounted", name, err)
		}
	}
	mounted(t, n, 1)
	// of the path at once, and of the walk
	n.Faults.Add(testnode.Fault{Function: "OpenFile", Times: 2, Error: win32.ERROR_ACCESS_DENIED})
	if err := get(staging); err == nil || ebsNothingMounted.MatchString(err.Error()) {
		t.Errorf("a failing kernel call: %v reads as nothing mounted", err)
	}
}

func TestRule02DrivelessPaths(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	id := mounted(t, n, 1)
	if !isSymlink(t, n, staging) {
		t.Error("IsSymlink of the drive-less staging path is false")
	}
	slashes := strings.ReplaceAll(staging, `\`, "/")
	for _, path := range []string{staging, "C:" + staging, "c:" + staging, staging + `\`, strings.ToUpper(staging),
		slashes, "C:" + slashes} {
		reply, err := n.Volume.GetVolumeIDFromTargetPath(t.Context(),
			&volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
		if err != nil || reply.GetVolumeId() != id {
			t.Errorf("GetVolumeIDFromTargetPath(%s): %v, %v", path, reply.GetVolumeId(), err)
		}
		if !isSymlink(t, n, path) {
			t.Errorf("IsSymlink(%s) is false", path)
		}
	}
	if !exists(t, n, staging) {
		t.Error("PathExists of the drive-less staging path is false")
	}
	_, err := n.Volume.UnmountVolume(t.Context(), &volume.UnmountVolumeRequest{VolumeId: id, TargetPath: slashes})
	noError(t, err)
	if isSymlink(t, n, staging) {
		t.Error("still mounted")
	}
}

func TestRule19ResizeVolume(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	id := formatted(t, n, 1)
	resize := func(id string, size int64) error {
		_, err := n.Volume.ResizeVolume(t.Context(), &volume.ResizeVolumeRequest{VolumeId: id, SizeBytes: size})
		return err
	}
	total := func() int64 {
		stats, err := n.Volume.GetVolumeStats(t.Context(), &volume.GetVolumeStatsRequest{VolumeId: id})
		noError(t, err)
		return stats.GetTotalBytes()
	}
	before := total()
	noError(t, resize(id, 0))
	noError(t, resize(id, before))
	noError(t, resize(id, 1<<20))
	noError(t, resize("1", 0))
	if total() != before {
		t.Errorf("a volume that fills its disk went from %d to %d bytes", before, total())
	}
	wantCode(t, resize(id, -1), codes.InvalidArgument)
	wantCode(t, resize(id, 11<<30), codes.OutOfRange)

	noError(t, n.Emulated.GrowDisk(1, 15<<30))
	noError(t, resize("1", 12<<30))
	if got := total(); got < 12<<30-8<<20 || got > 12<<30 {
		t.Errorf("grown to %d bytes, want about %d", got, 12<<30)
	}
	noError(t, resize(id, 0))
	if got := total(); got < 15<<30-64<<20 || got > 15<<30 {
		t.Errorf("grown to %d bytes, want about %d", got, 15<<30)
	}
	if got := total() - before; got < 4<<30 {
		t.Errorf("grew by %d bytes", got)
	}
}

func TestRule20IsVolumeFormattedIsNeverFalseByMistake(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	_, err := n.Disk.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: 1})
	noError(t, err)
	volumes, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: 1})
	noError(t, err)
	id := volumes.GetVolumeIds()[0]
	ask := func() (bool, error) {
		reply, err := n.Volume.IsVolumeFormatted(t.Context(), &volume.IsVolumeFormattedRequest{VolumeId: id})
		return reply.GetFormatted(), err
	}
	if yes, err := ask(); yes || err != nil {
		t.Errorf("a raw volume: %t, %v", yes, err)
	}
	formatted(t, n, 1)
	for _, code := range []win32.Errno{
		win32.ERROR_ACCESS_DENIED, win32.ERROR_NOT_READY, win32.ERROR_CRC, win32.ERROR_INVALID_FUNCTION,
		win32.ERROR_NOT_SUPPORTED,
		win32.ERROR_IO_DEVICE, win32.ERROR_NO_SUCH_DEVICE, win32.ERROR_FILE_NOT_FOUND, win32.Errno(0x80310000),
	} {
		n.Faults.Add(testnode.Fault{Function: "VolumeInformation", Error: code})
		if yes, err := ask(); err == nil {
			t.Errorf("%v: answered %t instead of failing", code, yes)
		}
		n.Faults.Release()
	}
	if yes, err := ask(); !yes || err != nil {
		t.Errorf("a formatted volume: %t, %v", yes, err)
	}
	_, err = n.Emulated.DetachDisk(1)
	noError(t, err)
	_, err = ask()
	wantCode(t, err, codes.NotFound)
}

func TestRule22EndpointNames(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	if got, want := n.Agent.Ready(), len(testnode.Released(t)); got != want {
		t.Errorf("%d endpoints, want %d", got, want)
	}
	for _, api := range testnode.Released(t) {
		conn, err := testnode.DialRaw(t.Context(), n.Socket(api.Group, api.Version))
		if err != nil {
			t.Errorf("%s %s: %v", api.Group, api.Version, err)
			continue
		}
		_ = conn.Close()
	}
}
