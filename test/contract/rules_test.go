// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	fs "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

// The paths of these tests, as kubelet makes them: staging paths without a drive, publish paths with one.
const (
	staging  = `\var\lib\kubelet\plugins\kubernetes.io\csi\driver\abc\globalmount`
	publish  = `c:\var\lib\kubelet\pods\6b0a\volumes\kubernetes.io~csi\pvc-1\mount`
	podsPath = `C:\var\lib\kubelet\pods`
)

// ebsNothingMounted is the expression by which the AWS EBS driver knows that nothing is mounted.
var ebsNothingMounted = regexp.MustCompile(`(Get-Item -Path \S+).Target, output: , error: <nil>|because it does not exist`)

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
	n.Faults.Add(testnode.Fault{Function: "OpenFile", Times: 1, Error: win32.ERROR_ACCESS_DENIED})
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
	for _, path := range []string{staging, "C:" + staging, "c:" + staging, staging + `\`, strings.ToUpper(staging), slashes, "C:" + slashes} {
		reply, err := n.Volume.GetVolumeIDFromTargetPath(t.Context(), &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
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

func TestRule03RmdirUnlinksAndNeverRecurses(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	id := mounted(t, n, 1)
	n.WriteFile(staging+`\data`, "precious")
	published(t, n)

	rmdir := func(path string) error {
		_, err := n.Filesystem.Rmdir(t.Context(), &fs.RmdirRequest{Path: path, Force: true})
		return err
	}
	noError(t, rmdir(publish))
	if exists(t, n, publish) || n.ReadFile(staging+`\data`) != "precious" {
		t.Error("removing the link did not remove the link alone")
	}
	noError(t, rmdir(publish)) // gone already
	noError(t, rmdir(staging)) // a live mount point: this is how Azure Disk unmounts
	if exists(t, n, staging) {
		t.Error("the mount point is still there")
	}
	_, err := n.Volume.MountVolume(t.Context(), &volume.MountVolumeRequest{VolumeId: id, TargetPath: staging})
	noError(t, err)
	if got := n.ReadFile(staging + `\data`); got != "precious" {
		t.Errorf("the volume's content is %q", got)
	}

	// The same for a mount point and a link below a directory that is removed with its content.
	noError(t, rmdir(staging))
	inner := podsPath + `\old\inner`
	_, err = n.Volume.MountVolume(t.Context(), &volume.MountVolumeRequest{VolumeId: id, TargetPath: inner})
	noError(t, err)
	_, err = n.Filesystem.CreateSymlink(t.Context(), &fs.CreateSymlinkRequest{SourcePath: inner, TargetPath: podsPath + `\old\link`})
	noError(t, err)
	noError(t, rmdir(podsPath+`\old`))
	_, err = n.Volume.MountVolume(t.Context(), &volume.MountVolumeRequest{VolumeId: id, TargetPath: staging})
	noError(t, err)
	if got := n.ReadFile(staging + `\data`); got != "precious" {
		t.Errorf("after removing a tree with the mount point in it the volume's content is %q", got)
	}
}

func TestRule04ListVolumesOnDiskIsNeverEmpty(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	list := func(number, partition uint32) ([]string, error) {
		reply, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: number, PartitionNumber: partition})
		return reply.GetVolumeIds(), err
	}
	_, err := list(1, 0)
	wantCode(t, err, codes.FailedPrecondition) // raw
	_, err = list(2, 0)
	wantCode(t, err, codes.FailedPrecondition) // offline
	_, err = list(77, 0)
	wantCode(t, err, codes.NotFound)
	id := formatted(t, n, 1)
	all, err := list(1, 0)
	noError(t, err)
	if !slices.Equal(all, []string{id}) {
		t.Errorf("got %q, want %q alone: the reserved partition has no volume", all, id)
	}
	_, err = list(1, 9)
	wantCode(t, err, codes.NotFound)

	system, err := list(0, 0)
	noError(t, err)
	if len(system) != 2 {
		t.Fatalf("disk 0 has volumes %q, want data and EFI", system)
	}
	c, err := n.Volume.GetClosestVolumeIDFromTargetPath(t.Context(), &volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: podsPath})
	noError(t, err)
	if system[0] != c.GetVolumeId() {
		t.Errorf("first of %q, want the data volume %s", system, c.GetVolumeId())
	}
	one, err := list(0, 1)
	noError(t, err)
	if !slices.Equal(one, system[1:]) {
		t.Errorf("partition 1 has %q, want the EFI volume %q", one, system[1:])
	}
	if slices.Contains(all, "") || slices.Contains(system, "") {
		t.Error("an empty volume id")
	}
}

func TestRule05PartitionBeforeOnline(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	// Disk 2 is raw and offline. Azure Disk never sets the state.
	formatted(t, n, 2)
	state, err := n.Disk.GetDiskState(t.Context(), &disk.GetDiskStateRequest{DiskNumber: 2})
	noError(t, err)
	if !state.GetIsOnline() {
		t.Error("the disk was left offline")
	}
	// Offline and partitioned: success, nothing done.
	_, err = n.Disk.SetDiskState(t.Context(), &disk.SetDiskStateRequest{DiskNumber: 2, IsOnline: false})
	noError(t, err)
	_, err = n.Disk.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: 2})
	noError(t, err)
	state, err = n.Disk.GetDiskState(t.Context(), &disk.GetDiskStateRequest{DiskNumber: 2})
	noError(t, err)
	if state.GetIsOnline() {
		t.Error("a partitioned disk was brought online")
	}
}

func TestRule06OnlineAndRescanAreComplete(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	id := formatted(t, n, 2)
	for _, online := range []bool{false, true, true} {
		_, err := n.Disk.SetDiskState(t.Context(), &disk.SetDiskStateRequest{DiskNumber: 2, IsOnline: online})
		noError(t, err)
	}
	volumes, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: 2})
	noError(t, err)
	if !slices.Equal(volumes.GetVolumeIds(), []string{id}) {
		t.Errorf("after online: %q, want %q", volumes.GetVolumeIds(), id)
	}
	number, err := n.Emulated.AttachDisk(emulated.DiskSpec{SizeBytes: 1 << 30, SerialNumber: "new", LUN: 12})
	noError(t, err)
	_, err = n.Disk.Rescan(t.Context(), &disk.RescanRequest{})
	noError(t, err)
	locations, err := n.Disk.ListDiskLocations(t.Context(), &disk.ListDiskLocationsRequest{})
	noError(t, err)
	if got := locations.GetDiskLocations()[number].GetLUNID(); got != "12" {
		t.Errorf("LUN of the new disk is %q, want 12", got)
	}
}

func TestRule07DiskNumberOfAnUnmountedVolume(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	id := mounted(t, n, 2)
	_, err := n.Volume.UnmountVolume(t.Context(), &volume.UnmountVolumeRequest{VolumeId: id, TargetPath: staging})
	noError(t, err)
	_, err = n.Filesystem.Rmdir(t.Context(), &fs.RmdirRequest{Path: staging, Force: true})
	noError(t, err)
	reply, err := n.Volume.GetDiskNumberFromVolumeID(t.Context(), &volume.GetDiskNumberFromVolumeIDRequest{VolumeId: id})
	noError(t, err)
	if reply.GetDiskNumber() != 2 {
		t.Errorf("disk %d, want 2", reply.GetDiskNumber())
	}
}

func TestRule08IdentifiersVerbatim(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	blank, err := n.Emulated.AttachDisk(emulated.DiskSpec{SizeBytes: 1 << 30, LUN: 3, Identifiers: []win32.StorageIdentifier{
		{CodeSet: win32.StorageIdCodeSetAscii, Identifier: []byte("   ")},
	}})
	noError(t, err)
	ids, err := n.Disk.ListDiskIDs(t.Context(), &disk.ListDiskIDsRequest{})
	noError(t, err)
	for number, want := range map[uint32]string{1: "60022480454d552d4449534b30303031", 2: "EMULATED  disk-2", blank: ""} {
		if got := ids.GetDiskIDs()[number].GetPage83(); got != want {
			t.Errorf("page 83 of disk %d is %q, want %q", number, got, want)
		}
	}
	locations, err := n.Disk.ListDiskLocations(t.Context(), &disk.ListDiskLocationsRequest{})
	noError(t, err)
	for number, want := range map[uint32]string{0: "0", 1: "1", 2: "2", blank: "3"} {
		if got := locations.GetDiskLocations()[number].GetLUNID(); got != want {
			t.Errorf("LUN of disk %d is %q, want %q", number, got, want)
		}
	}
}

func TestRule09SerialNumberKeepsItsCharacters(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	number, err := n.Emulated.AttachDisk(emulated.DiskSpec{SizeBytes: 1 << 30, LUN: 3, SerialNumber: " Vol_Ab 12_00000001. "})
	noError(t, err)
	ids, err := n.Disk.ListDiskIDs(t.Context(), &disk.ListDiskIDsRequest{})
	noError(t, err)
	for number, want := range map[uint32]string{1: "vol0123456789abcdef1", 2: "vol0123456789abcdef2", number: "Vol_Ab 12_00000001."} {
		if got := ids.GetDiskIDs()[number].GetSerialNumber(); got != want {
			t.Errorf("serial number of disk %d is %q, want %q", number, got, want)
		}
	}
}

func TestRule10DiskStatsRideOutTransientFailures(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	n.Faults.Add(testnode.Fault{Function: "OpenDevice", Times: 2, Error: win32.ERROR_NOT_READY})
	n.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, Times: 2, Error: win32.ERROR_IO_DEVICE})
	for number, want := range map[uint32]int64{0: 64 << 30, 1: 10 << 30, 2: 20 << 30} {
		stats, err := n.Disk.GetDiskStats(t.Context(), &disk.GetDiskStatsRequest{DiskNumber: number})
		noError(t, err)
		if stats.GetTotalBytes() != want {
			t.Errorf("disk %d has %d bytes, want %d", number, stats.GetTotalBytes(), want)
		}
	}
	noError(t, n.Emulated.GrowDisk(1, 12<<30))
	stats, err := n.Disk.GetDiskStats(t.Context(), &disk.GetDiskStatsRequest{DiskNumber: 1})
	noError(t, err)
	if stats.GetTotalBytes() != 12<<30 {
		t.Errorf("a grown disk has %d bytes, want %d", stats.GetTotalBytes(), 12<<30)
	}
}

func TestRule12VolumeThroughThePublishLink(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	id := mounted(t, n, 1)
	published(t, n)
	reply, err := n.Volume.GetVolumeIDFromTargetPath(t.Context(), &volume.GetVolumeIDFromTargetPathRequest{TargetPath: publish})
	noError(t, err)
	if reply.GetVolumeId() != id {
		t.Errorf("volume %s, want %s", reply.GetVolumeId(), id)
	}
}

func TestRule13MountedFolderIsSymlink(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	mkdir(t, n, staging)
	if isSymlink(t, n, staging) {
		t.Error("a plain directory is one")
	}
	mounted(t, n, 1)
	if !isSymlink(t, n, staging) {
		t.Error("a mounted folder is none")
	}
	published(t, n)
	if !isSymlink(t, n, publish) {
		t.Error("the publish link is none")
	}
}

func TestRule14IsSymlinkOfNothing(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	_, err := n.Filesystem.IsSymlink(t.Context(), &fs.IsSymlinkRequest{Path: staging})
	wantCode(t, err, codes.NotFound)
	published(t, n) // the staging path is not there: a dangling link
	if isSymlink(t, n, publish) {
		t.Error("a dangling link counts as mounted")
	}
	if !exists(t, n, publish) {
		t.Error("a dangling link does not exist")
	}
	id := mounted(t, n, 1)
	if !isSymlink(t, n, publish) {
		t.Error("the link leads to a mounted volume now")
	}
	_, err = n.Emulated.DetachDisk(1)
	noError(t, err)
	if isSymlink(t, n, staging) || isSymlink(t, n, publish) {
		t.Error("a mount point whose disk has gone counts as mounted")
	}
	if !exists(t, n, staging) {
		t.Error("a mount point whose disk has gone does not exist")
	}
	reply, err := n.Volume.GetVolumeIDFromTargetPath(t.Context(), &volume.GetVolumeIDFromTargetPathRequest{TargetPath: staging})
	noError(t, err)
	if reply.GetVolumeId() != id {
		t.Errorf("volume %s, want %s", reply.GetVolumeId(), id)
	}
	_, err = n.Volume.GetDiskNumberFromVolumeID(t.Context(), &volume.GetDiskNumberFromVolumeIDRequest{VolumeId: id})
	wantCode(t, err, codes.NotFound)
	if ebsNothingMounted.MatchString(err.Error()) {
		t.Errorf("%v reads as nothing mounted", err)
	}
	_, err = n.Volume.UnmountVolume(t.Context(), &volume.UnmountVolumeRequest{VolumeId: id, TargetPath: staging})
	noError(t, err)
	if isSymlink(t, n, staging) || !exists(t, n, staging) {
		t.Error("unmounting a volume that has gone does not leave the empty directory")
	}
}

func TestRule15CreateSymlinkMakesADirectoryLink(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	mounted(t, n, 1)
	n.WriteFile(staging+`\data`, "seen through the link")
	published(t, n)
	if got := n.ReadFile(publish + `\data`); got != "seen through the link" {
		t.Errorf("through the link: %q", got)
	}
	target, err := n.Emulated.Readlink(publish)
	noError(t, err)
	if target != "C:"+staging {
		t.Errorf("the link reads %q, want %q", target, "C:"+staging)
	}
	published(t, n) // again
	_, err = n.Filesystem.CreateSymlink(t.Context(), &fs.CreateSymlinkRequest{SourcePath: podsPath + `\elsewhere`, TargetPath: publish})
	wantCode(t, err, codes.AlreadyExists)
	_, err = n.Filesystem.CreateSymlink(t.Context(), &fs.CreateSymlinkRequest{SourcePath: staging + `\data`, TargetPath: podsPath + `\filelink`})
	wantCode(t, err, codes.FailedPrecondition)
	_, err = n.Filesystem.CreateSymlink(t.Context(), &fs.CreateSymlinkRequest{SourcePath: staging, TargetPath: podsPath + `\none\link`})
	wantCode(t, err, codes.NotFound)
}

func TestRule16MountTwice(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	id := mounted(t, n, 1)
	other := formatted(t, n, 2)
	mount := func(id, path string) error {
		_, err := n.Volume.MountVolume(t.Context(), &volume.MountVolumeRequest{VolumeId: id, TargetPath: path})
		return err
	}
	noError(t, mount(id, staging))
	noError(t, mount(strings.ToUpper(id), "C:"+strings.ToUpper(staging)+`\`))
	noError(t, mount(strings.TrimSuffix(strings.TrimPrefix(id, `\\?\`), `\`), staging))
	err := mount(other, staging)
	wantCode(t, err, codes.FailedPrecondition)
	if !strings.Contains(err.Error(), id) || !strings.Contains(err.Error(), other) {
		t.Errorf("%v does not name both volumes", err)
	}
	noError(t, mount(id, podsPath+`\second`))
	_, err = n.Volume.UnmountVolume(t.Context(), &volume.UnmountVolumeRequest{VolumeId: other, TargetPath: staging})
	wantCode(t, err, codes.FailedPrecondition)
	if !isSymlink(t, n, staging) {
		t.Error("unmounting another volume took this one away")
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
		win32.ERROR_ACCESS_DENIED, win32.ERROR_NOT_READY, win32.ERROR_CRC, win32.ERROR_INVALID_FUNCTION, win32.ERROR_NOT_SUPPORTED,
		win32.ERROR_IO_DEVICE, win32.ERROR_NO_SUCH_DEVICE, win32.ERROR_FILE_NOT_FOUND, win32.Errno(0x80310000),
	} {
		n.Faults.Add(testnode.Fault{Function: "VolumeInformation", Times: 1, Error: code})
		if yes, err := ask(); err == nil {
			t.Errorf("%v: answered %t instead of failing", code, yes)
		}
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
