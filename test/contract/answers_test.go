// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// is asserts an answer.
func is[T comparable](t *testing.T, what string, want T) func(got T, err error) {
	t.Helper()
	return func(got T, err error) {
		t.Helper()
		if got != want || err != nil {
			t.Errorf("%s: got %v, %v, want %v", what, got, err, want)
		}
	}
}

func TestAnswersAboutDisks(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	number, err := n.Emulated.AttachDisk(bundle.Spec{SizeBytes: gib, SerialNumber: " Ab_1 2. ", Adapter: 3, Bus: 1,
		Target: 2, LUN: 12, Offline: true})
	n.OK(err)
	locations, err := n.ListDiskLocations()
	n.OK(err)
	if got, want := locations[number].String(), (&disk.DiskLocation{Adapter: "3", Bus: "1", Target: "2",
		LUNID: "12"}).String(); got != want || len(locations) != 4 {
		t.Errorf("the location of one of %d disks: %s, want %s", len(locations), got, want)
	}
	ids, err := n.ListDiskIDs()
	n.OK(err)
	if ids[number].GetSerialNumber() != "Ab_1 2." || ids[number].GetPage83() != "" ||
		ids[1].GetPage83() != "60022480454d552d4449534b30303031" {
		t.Errorf("the marks of the disks: %v", ids)
	}
	n.GrowDisk(number, 3*gib)
	is(t, "the size of a disk that has grown", int64(3*gib))(n.GetDiskStats(number))
	system := n.Volumes(0)
	tree := n.Tree().Disks[0].Partitions
	if !slices.Equal(system, []string{tree[2].Volume.ID, tree[0].Volume.ID}) {
		t.Errorf("the system disk's volumes are %q, want drive C's before EFI's", system)
	}
	first, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{PartitionNumber: 1})
	n.OK(err)
	if !slices.Equal(first.GetVolumeIds(), system[1:]) {
		t.Errorf("the volumes of its first partition are %q, want %q", first.GetVolumeIds(), system[1:])
	}
	if raw := n.Volumes(2); len(raw) > 0 {
		t.Errorf("a raw disk that is offline has the volumes %q", raw)
	}
	id := n.Formatted(1)
	is(t, "the disk of a volume", uint32(1))(n.GetDiskNumberFromVolumeID(strings.ToUpper(strings.Trim(id, `\?`))))
	n.SetDiskOnline(1, false)
	_, err = n.ListVolumesOnDisk(1)
	n.Refused(err, codes.FailedPrecondition, reason.DiskOffline)
	_, err = n.GetDiskNumberFromVolumeID(id)
	n.Code(err, codes.NotFound)
	_, _, err = n.GetVolumeStats(`\\?\Volume{12345678-9abc-def0-1234-56789abcdef0}\`)
	n.Code(err, codes.NotFound)
	n.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX,
		Error: win32.ERROR_CRC})
	_, err = n.GetDiskStats(2)
	n.Code(err, codes.DataLoss)
	n.Once("DiskFreeSpace", win32.ERROR_ACCESS_DENIED)
	_, _, err = n.GetVolumeStats(system[0])
	n.Code(err, codes.PermissionDenied)
	n.Faults.Add(testnode.Fault{Function: "OpenDevice", Error: win32.ERROR_NOT_READY})
	_, err = n.ListDiskIDs()
	n.Code(err, codes.Unavailable) // no disk can be opened
}

// spellings returns what drivers and kubelet write for a path, where slashes are taken for backslashes.
func spellings(path string) []string {
	slashes := strings.ReplaceAll(path, `\`, "/")
	return []string{path, strings.ToUpper(path), path + `\`, path[len(`C:`):], slashes, slashes[len(`C:`):] + "/"}
}

func TestAnswersAboutPaths(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	id := n.Formatted(1)
	const mount, link, dangling = podsPath + `\mount`, podsPath + `\link`, podsPath + `\dangling`
	const plain = podsPath + `\plain`
	n.OK(n.MountVolume(id, spellings(mount)[5]))
	n.OK(n.Mkdir(mount + `\inside`))
	n.OK(n.Mkdir(plain))
	n.OK(n.CreateSymlink(mount, link))
	n.OK(n.CreateSymlink(podsPath+`\none`, dangling))
	for path, want := range map[string]struct{ exists, isLink bool }{
		mount: {true, true}, link: {true, true}, dangling: {true, false}, plain: {true, false},
		plain[len(`C:`):]: {true, false}, podsPath + `\none\below`: {},
	} {
		is(t, path+" exists", want.exists)(n.PathExists(path))
		if want.exists {
			is(t, path+" is a link", want.isLink)(n.IsSymlink(path))
		}
	}
	for _, path := range spellings(mount) {
		is(t, path+" is a link", true)(n.IsSymlink(path))
		is(t, "the volume at "+path, id)(n.GetVolumeIDFromTargetPath(path))
	}
	is(t, "the volume at a link", id)(n.GetVolumeIDFromTargetPath(link))
	for path, want := range map[string]string{link: id, link + `\inside`: id, mount + "/inside": id,
		podsPath: n.Volumes(0)[0]} {
		is(t, "the volume that holds "+path, want)(n.GetClosestVolumeIDFromTargetPath(path))
	}
	for _, path := range []string{plain, mount + `\inside`} {
		_, err := n.GetVolumeIDFromTargetPath(path)
		n.Code(err, codes.NotFound, "because it does not exist")
	}
	n.Faults.Add(testnode.Fault{Function: "QueryAttributes", Error: win32.ERROR_ACCESS_DENIED})
	n.Faults.Add(testnode.Fault{Function: "OpenFile", Error: win32.ERROR_ACCESS_DENIED})
	for _, ask := range []func(string) error{
		func(path string) error { _, err := n.PathExists(path); return err },
		func(path string) error { _, err := n.IsSymlink(path); return err },
		func(path string) error { _, err := n.GetVolumeIDFromTargetPath(path); return err },
		func(path string) error { _, _, err := n.GetVolume(path); return err },
	} {
		if err := ask(mount); err == nil || ebsNothingMounted.MatchString(err.Error()) {
			t.Errorf("%v reads as if nothing was mounted", err)
		} else {
			n.Code(err, codes.PermissionDenied)
		}
	}
	n.Faults.Release()
	n.OK(n.UnmountVolume(id, spellings(mount)[5]))
	is(t, "the directory exists after unmounting", true)(n.PathExists(mount))
}

// TestRefusedPaths: calls that would take what is at a path, or for which it is not what they need, change nothing.
func TestRefusedPaths(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	const mount, link, full, missing = podsPath + `\mount`, podsPath + `\link`, podsPath + `\full`, podsPath + `\none`
	id, other := n.Formatted(1), n.Formatted(n.Attach(bundle.Spec{}))
	n.OK(n.MountVolume(id, mount))
	n.WriteFile(mount+`\data`, "precious")
	n.OK(n.CreateSymlink(mount, link))
	n.OK(n.Mkdir(full))
	n.WriteFile(full+`\data`, "precious")
	const shared = podsPath + `\share`
	n.OK(n.Map(share, shared))
	n.OK(n.Mkdir(shared + `\dir`))
	raw, blank := n.Attach(bundle.Spec{}), n.Attach(bundle.Spec{})
	unformatted := n.Raw(raw)
	image, content := filepath.Join(t.TempDir(), "image"), make([]byte, 8<<20) // without a partition table
	copy(content[1<<20:], "another program's data")
	n.OK(os.WriteFile(image, content, 0o600))
	foreign := n.Attach(bundle.Spec{ImagePath: image})
	digests := func() string { return n.DiskDigest(raw) + n.DiskDigest(blank) + n.DiskDigest(foreign) }
	before := digests()
	stageReadOnly := func(number uint32) error {
		_, err := n.Steps().StageDisk(t.Context(),
			&nodesteps.StageDiskRequest{Disk: byNumber(number), TargetPath: missing, ReadOnly: true})
		return err
	}
	const failed, exists = codes.FailedPrecondition, codes.AlreadyExists
	for _, call := range []struct {
		what   string
		err    error
		code   codes.Code
		reason string
	}{
		{"mount no volume", n.MountVolume(`\\?\Volume{11111111-2222-3333-4444-555555555555}\`, missing), codes.NotFound,
			reason.VolumeNotFound},
		{"mount over another volume", n.MountVolume(other, mount), failed, reason.OtherVolumeMounted},
		{"mount over a link", n.MountVolume(id, link), failed, reason.LinkRefused},
		{"mount over files", n.MountVolume(id, full), failed, reason.DirectoryNotEmpty},
		{"mount over a file", n.MountVolume(id, full+`\data`), failed, reason.NotADirectory},
		{"mount on a share", n.MountVolume(id, shared+`\dir`), failed, reason.OnShare},
		{"unmount another volume", n.UnmountVolume(other, mount), failed, reason.OtherVolumeMounted},
		{"unmount a link", n.UnmountVolume(id, link), failed, reason.LinkRefused},
		{"make a directory of a file", n.Mkdir(full + `\data`), failed, reason.NotADirectory},
		{"make a directory below a file", n.Mkdir(full + `\data\below`), failed, reason.NotADirectory},
		{"remove a file", n.Rmdir(full+`\data`, true), failed, reason.NotADirectory},
		{"empty a file", n.RmdirContents(full + `\data`), failed, reason.NotADirectory},
		{"empty what is missing", n.RmdirContents(missing), codes.NotFound, reason.PathNotFound},
		{"empty a volume", n.RmdirContents(mount), failed, reason.LinkRefused},
		{"empty a link", n.RmdirContents(link), failed, reason.LinkRefused},
		{"link to a file", n.CreateSymlink(full+`\data`, missing), failed, reason.NotADirectory},
		{"link over another link", n.CreateSymlink(full, link), exists, reason.PathExists},
		{"link over a directory", n.CreateSymlink(mount, full), exists, reason.PathExists},
		{"stage Windows' disk", n.StageDisk(0, missing), failed, reason.SystemDisk},
		{"stage over another volume", n.StageDisk(2, mount), failed, reason.OtherVolumeMounted},
		{"stage a raw disk read-only", stageReadOnly(blank), failed, reason.NotFormatted},
		{"stage a raw volume read-only", stageReadOnly(raw), failed, reason.NotFormatted},
		{"stage another program's data", n.StageDisk(foreign, missing), failed, reason.DiskNotBlank},
		{"stage it read-only", stageReadOnly(foreign), failed, reason.NotFormatted},
		{"link to another share", n.Map(otherShare, shared), exists, reason.PathExists},
		{"stage a share over files", n.StageShare(share, full), failed, reason.DirectoryNotEmpty},
		{"unstage files", n.Unstage(full), failed, reason.DirectoryNotEmpty},
		{"publish over files", n.Publish(mount, full), failed, reason.DirectoryNotEmpty},
		{"expand beyond the disk", expand(n, mount, 11<<30), codes.Unavailable, reason.DiskTooSmall},
		{"expand what is not mounted", expand(n, full, 0), codes.NotFound, reason.NotMounted},
	} {
		t.Run(call.what, func(t *testing.T) { caller.On(t, n.Node).Refused(call.err, call.code, call.reason) })
	}
	n.Holds(link+`\data`, "precious")
	n.Holds(full+`\data`, "precious")
	if n.Mapped(share); n.Exists(missing) {
		t.Error("something is there")
	}
	is(t, "the volume is formatted", false)(n.IsVolumeFormatted(unformatted))
	if digests() != before {
		t.Error("the content of a disk has changed")
	}
	n.OK(n.CreateSymlink(mount, full+`\link`))
	n.OK(n.RmdirContents(full)) // which removes links and does not follow them
	n.Holds(mount+`\data`, "precious")
}

func expand(n *caller.Node, path string, size int64) error {
	_, err := n.Steps().Expand(n.Context(), &nodesteps.ExpandRequest{TargetPath: path, SizeBytes: size})
	return err
}

// TestSteps: what a step finds at its target gives way if it is a link or empty, and the last user takes a share along.
func TestSteps(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	second := n.Attach(bundle.Spec{})
	n.OK(n.StageDisk(1, ours))
	n.OK(n.StageDisk(second, theirs))
	n.OK(n.Publish(ours, publish))
	n.OK(n.Mkdir(podsPath + `\empty`))
	for _, instead := range []string{publish, podsPath + `\empty`} {
		n.OK(n.Publish(theirs, instead))
		n.WriteFile(instead+`\file`, "x")
		n.Holds(theirs+`\file`, "x")
	}
	n.OK(n.Unstage(publish))
	is(t, "the disk is online after unstaging a link", true)(n.GetDiskState(second))
	n.OK(n.Unstage(theirs))
	is(t, "the disk is online after unstaging its volume", false)(n.GetDiskState(second))
	n.DetachDisk(1)
	for _, at := range []string{podsPath + `\empty`, theirs, ours} {
		n.OK(n.Unstage(at)) // a link that leads nowhere, nothing, and a volume whose disk is gone
		is(t, at+" exists", false)(n.PathExists(at))
	}

	n.OK(n.StageShare(share, theirs))
	n.OK(n.Mkdir(podsPath + `\share`))
	n.OK(n.StageShare("//FS.emulated/share/", podsPath+`\share`))
	n.Refused(n.StageShare(otherShare, theirs), codes.AlreadyExists, reason.PathExists)
	n.OK(n.Unstage(theirs))
	n.Mapped(share)
	n.Once("RemoveSMBGlobalMapping", win32.ERROR_OPEN_FILES)
	n.Code(n.Unstage(podsPath+`\share`), codes.Unavailable)
	n.Mapped(share)
	n.Faults.Add(testnode.Fault{Function: "RemoveSMBGlobalMapping", Times: 1, Error: win32.ERROR_NOT_CONNECTED,
		After: true}) // another program was faster
	n.OK(n.Unstage(podsPath + `\share`))
	n.Mapped()
}

// TestConditions: GetVolume says what is wrong with a volume, and the sizes of one that is well.
func TestConditions(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	withoutSizes := map[string]codes.Code{"": codes.Unavailable, "DISK_CORRUPT": codes.FailedPrecondition,
		reason.NotFormatted: codes.FailedPrecondition, reason.DiskNotFound: codes.NotFound,
		reason.NotMounted: codes.NotFound, reason.NotAnswering: codes.Unavailable}
	get := func(what, path, condition string, sizes ...int64) {
		t.Helper()
		r, err := n.Steps().GetVolume(t.Context(), &nodesteps.GetVolumeRequest{TargetPath: path})
		got := []int64{r.GetTotalBytes(), r.GetUsedBytes(), r.GetAvailableBytes()}
		named := condition == "" || condition == "DISK_CORRUPT" ||
			strings.Contains(strings.ToLower(r.GetMessage()), strings.ToLower(path))
		code := withoutSizes[condition]
		if sizes != nil {
			code = codes.OK
		}
		if err != nil || r.GetReason() != condition || codes.Code(r.GetCode()) != code ||
			r.GetAbnormal() != (condition != "") || !named ||
			!slices.Equal(got, append(sizes, 0, 0, 0)[:3]) {
			t.Errorf("%s: got %v, %v, want %q with %d", what, r, err, condition, sizes)
		}
	}
	n.OK(n.StageDisk(1, ours))
	n.OK(n.Publish(ours, publish))
	total, used, err := n.GetVolumeStats(n.Volumes(1)[0])
	n.OK(err)
	get("a volume", ours, "", total, used, total-used)
	get("a link to it", publish, "", total, used, total-used)
	filler := n.HostPath(ours + `\filler`)
	n.OK(os.WriteFile(filler, nil, 0o600))
	filled := (total - used) / (32 << 12) * (31 << 12) // whole clusters
	n.OK(os.Truncate(filler, filled))
	get("a volume that is nearly full", ours, reason.NearlyFull, total, used+filled, total-used-filled)
	n.OK(os.Remove(filler))
	sizes := func(code win32.Errno) { n.Once("DiskFreeSpace", code) }
	sizes(win32.ERROR_DISK_CORRUPT)
	get("a damaged volume", publish, "DISK_CORRUPT")
	sizes(win32.ERROR_UNRECOGNIZED_VOLUME)
	get("a volume without a file system", ours, reason.NotFormatted)
	sizes(win32.ERROR_NOT_READY)
	if _, _, err := n.GetVolume(ours); err == nil {
		t.Error("it is known what is wrong with a volume that is not ready")
	}
	n.SetDiskOnline(1, false)
	get("the disk is offline", publish, reason.DiskNotFound)
	sizes(win32.ERROR_NOT_READY) // in place of no such volume
	get("the disk is offline", ours, reason.DiskNotFound)
	n.SetDiskOnline(1, true)
	get("the disk is online again", ours, "", total, used, total-used)
	n.DetachDisk(1)
	get("the disk is gone", ours, reason.DiskNotFound)
	get("nothing is mounted", podsPath, reason.NotMounted)

	n.AddSMBShare("fs.emulated", "usage", caller.User)
	n.SetSMBShareSpace("fs.emulated", "usage", 10<<30, 1<<30)
	n.OK(n.StageShare(`\\fs.emulated\usage`, theirs))
	n.WriteFile(theirs+`\data`, "less than a unit")
	get("a share with a quota", theirs, "", 1<<30, 4096, 1<<30-4096)
	n.Once("FsInformation", win32.ERROR_ACCESS_DENIED)
	get("only the sizes are refused", theirs, "")
	n.StopSMBServer("fs.emulated")
	get("the server is down", theirs, reason.NotAnswering)
	n.StartSMBServer("fs.emulated")
	n.OK(n.Emulated.RemoveSMBGlobalMapping(`\\fs.emulated\usage`))
	get("the share is not mapped", theirs, reason.NotMounted)
}
