// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	fs "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

func formatVolume(t *testing.T, n *testnode.Node, id string) error {
	t.Helper()
	_, err := n.Volume.FormatVolume(t.Context(), &volume.FormatVolumeRequest{VolumeId: id})
	return err
}

// formats returns how often Windows was asked to format.
func formats(n *testnode.Node) int { return len(n.Find(csiproxytest.Query{Function: "FormatVolume"})) }

// write writes a file on the node's host, with the directories above it.
func write(t *testing.T, n *testnode.Node, dir, below string) {
	t.Helper()
	path := filepath.Join(n.HostPath(dir), filepath.FromSlash(below))
	noError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	noError(t, os.WriteFile(path, []byte("content"), 0o600))
}

// TestFormatOfAnEmptyNTFS: a volume on which only Windows has written is formatted already.
func TestFormatOfAnEmptyNTFS(t *testing.T) {
	for _, erase := range []bool{false, true} {
		n := testnode.Start(t, testnode.Options{EraseOnFormat: erase})
		id := mounted(t, n, 1)
		noError(t, formatVolume(t, n, id))
		write(t, n, staging, "System Volume Information/IndexerVolumeGuid")
		write(t, n, staging, "$RECYCLE.BIN/S-1-5-18/desktop.ini")
		noError(t, formatVolume(t, n, id))
		if formats(n) != 1 {
			t.Errorf("erase=%t: formatted %d times", erase, formats(n))
		}
	}
}

// TestEmptyRootDirectory: the first listing of a root directory without entries fails on Windows, and the volume is
// empty all the same.
func TestEmptyRootDirectory(t *testing.T) {
	for _, notFound := range []string{"true", "false"} {
		n := testnode.Start(t, testnode.Options{})
		noError(t, n.Emulated.SetSwitch("emptyRootNotFound", notFound))
		n.FailAfter(csiproxytest.Calls{Function: "FormatVolume", Times: 1}, "ERROR_BUSY") // and is looked at again
		id := formatted(t, n, 1)
		noError(t, formatVolume(t, n, id))
		if formats(n) != 1 {
			t.Errorf("not found: %s: formatted %d times", notFound, formats(n))
		}
		for _, want := range []nodesteps.AccessResult{nodesteps.AccessResult_ACCESS_RESULT_ADDED, nodesteps.AccessResult_ACCESS_RESULT_PRESENT} {
			staged, err := n.Client().NodeSteps.StageDisk(t.Context(),
				&nodesteps.StageDiskRequest{Disk: byNumber(1), TargetPath: staging, Access: forContainerUser()})
			noError(t, err)
			if staged.GetAccess() != want {
				t.Errorf("not found: %s: the access list: %v, want %v", notFound, staged.GetAccess(), want)
			}
		}
	}
}

// TestFormatCountsLinksAsFiles: a link named like one of Windows' own directories counts as user data.
func TestFormatCountsLinksAsFiles(t *testing.T) {
	for _, name := range []string{"System Volume Information", "$RECYCLE.BIN"} {
		n := testnode.Start(t, testnode.Options{})
		id := mounted(t, n, 1)
		mkdir(t, n, podsPath+`\target`)
		_, err := n.Filesystem.CreateSymlink(t.Context(), &fs.CreateSymlinkRequest{SourcePath: podsPath + `\target`,
			TargetPath: staging + `\` + name})
		noError(t, err)
		wantReason(t, formatVolume(t, n, id), codes.FailedPrecondition, "VOLUME_NOT_EMPTY")
	}
}

// TestFormatOfFiles: a volume that holds files is refused, or erased where the operator said so.
func TestFormatOfFiles(t *testing.T) {
	files := map[string]string{
		"a file":                           "data",
		"an empty file in a directory":     "a/b/c",
		"a deleted file":                   "$RECYCLE.BIN/S-1-5-21-1-1-1-1001/$RABCDEF.txt",
		"a file in the recycle bin itself": "$RECYCLE.BIN/data",
		"a directory in the recycle bin":   "$RECYCLE.BIN/S-1-5-18/directory/desktop.ini",
		"a file with Windows' own name":    "System Volume Information",
		"a name like Windows' own":         "System Volume Information 2/x",
	}
	for i, name := range slices.Sorted(maps.Keys(files)) {
		if !testnode.Sampled(t, i, 0, 1) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			below := files[name]
			refusing := testnode.Start(t, testnode.Options{})
			id := mounted(t, refusing, 1)
			write(t, refusing, staging, below)
			wantReason(t, formatVolume(t, refusing, id), codes.FailedPrecondition, "VOLUME_NOT_EMPTY", "-erase-on-format")
			if _, err := os.Stat(filepath.Join(refusing.HostPath(staging), filepath.FromSlash(below))); err != nil ||
				formats(refusing) != 1 {
				t.Errorf("after the refusal: %v, formatted %d times", err, formats(refusing))
			}

			erasing := testnode.Start(t, testnode.Options{EraseOnFormat: true})
			id = mounted(t, erasing, 1)
			write(t, erasing, staging, below)
			noError(t, formatVolume(t, erasing, id))
			if entries, err := os.ReadDir(erasing.HostPath(staging)); err != nil || len(entries) != 0 || formats(erasing) != 2 {
				t.Errorf("after the erasure: %v, %v, formatted %d times", entries, err, formats(erasing))
			}
			noError(t, formatVolume(t, erasing, id)) // what a retry finds
			if formats(erasing) != 2 {
				t.Errorf("an erased volume was formatted again")
			}
		})
	}
}

// TestFormatNeverErasesSystemVolumes: Windows' own volumes, and those that something uses.
func TestFormatNeverErasesSystemVolumes(t *testing.T) {
	t.Parallel()
	n := testnode.Start(t, testnode.Options{EraseOnFormat: true})
	system, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: 0})
	noError(t, err)
	for _, id := range system.GetVolumeIds() {
		wantReason(t, formatVolume(t, n, id), codes.FailedPrecondition, "SYSTEM_DISK")
	}

	id := mounted(t, n, 1)
	n.WriteFile(staging+`\data`, "precious")
	file, err := n.Emulated.OpenFile(nil, `\\?\C:`+staging+`\data`, kernel.OpenOptions{
		Access: win32.FILE_READ_DATA, Share: win32.FILE_SHARE_READ, Disposition: win32.FILE_OPEN,
	})
	noError(t, err)
	wantReason(t, formatVolume(t, n, id), codes.FailedPrecondition, "VOLUME_IN_USE", "open")
	noError(t, file.Close())

	noError(t, os.WriteFile(filepath.Join(n.HostPath(staging), "pagefile.sys"), []byte("pages"), 0o600))
	wantReason(t, formatVolume(t, n, id), codes.FailedPrecondition, "VOLUME_IN_USE", "page file")
	if got := n.ReadFile(staging + `\data`); got != "precious" || formats(n) != 1 {
		t.Errorf("the data is %q, formatted %d times", got, formats(n))
	}
	noError(t, os.Remove(filepath.Join(n.HostPath(staging), "pagefile.sys")))
	noError(t, formatVolume(t, n, id))
}

// TestBusyFormat: a volume that is busy is formatted at a later attempt, after another look.
func TestBusyFormat(t *testing.T) {
	t.Parallel()
	busy := func(times int, after bool) testnode.Fault {
		return testnode.Fault{Function: "FormatVolume", Times: times, Error: win32.ERROR_BUSY, After: after}
	}
	for name, c := range map[string]struct {
		fault testnode.Fault
		code  codes.Code
		asked int
	}{
		"twice":                      {busy(2, false), codes.OK, 3},
		"five times":                 {busy(5, false), codes.OK, 6},
		"and formatted all the same": {busy(1, true), codes.OK, 1},
		"another error": {testnode.Fault{Function: "FormatVolume", Times: 1, Error: win32.ERROR_IO_DEVICE},
			codes.Unavailable, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := testnode.Start(t, testnode.Options{})
			noError(t, partition(t, n, 1))
			volumes, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: 1})
			noError(t, err)
			n.Faults.Add(c.fault)
			wantCode(t, formatVolume(t, n, volumes.GetVolumeIds()[0]), c.code)
			if formats(n) != c.asked {
				t.Errorf("Windows was asked %d times, want %d", formats(n), c.asked)
			}
		})
	}
}

// TestBusyFormatChecksAgain: a file written while the volume was busy is kept.
func TestBusyFormatChecksAgain(t *testing.T) {
	n := testnode.Start(t, testnode.Options{EraseOnFormat: true})
	id := mounted(t, n, 1)
	n.WriteFile(staging+`\data`, "precious")
	n.Faults.Add(testnode.Fault{Function: "FormatVolume", Times: 1, Error: win32.ERROR_BUSY})
	// The second check finds the volume locked.
	n.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.FSCTL_LOCK_VOLUME, Skip: 1,
		Error: win32.ERROR_IO_DEVICE})
	if err := formatVolume(t, n, id); err == nil || !strings.Contains(err.Error(), "lock") {
		t.Errorf("FormatVolume = %v, want the second look's error", err)
	}
	if got := n.ReadFile(staging + `\data`); got != "precious" {
		t.Errorf("the data is %q", got)
	}
}

// TestFormatOfANewPartition: the storage provider learns of a partition seconds after it was made, and the driver does
// not notice.
func TestFormatOfANewPartition(t *testing.T) {
	for name, late := range map[string]win32.Errno{
		"its cache is out of date": kernel.StorageCacheOutOfDate, "it does not know the volume": kernel.StorageNotInCache,
		"it says offline": kernel.StorageDiskOffline, "it says read-only": win32.ERROR_WRITE_PROTECT,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := testnode.Start(t, testnode.Options{})
			noError(t, partition(t, n, 1))
			volumes, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: 1})
			noError(t, err)
			n.Faults.Add(testnode.Fault{Function: "FormatVolume", Error: late, Times: 1})
			noError(t, formatVolume(t, n, volumes.GetVolumeIds()[0]))
			if formats(n) != 2 {
				t.Errorf("Windows was asked %d times", formats(n))
			}

			// The provider knows nothing, and the disk says why it is not formatted.
			n.Faults.Add(testnode.Fault{Function: "FormatVolume", Error: late})
			wantReason(t, formatOfReadOnlyDisk(t, n), codes.FailedPrecondition, "DISK_READ_ONLY", "SetDiskState")
		})
	}
}

// formatOfReadOnlyDisk formats the volume of disk 2, which is read-only.
func formatOfReadOnlyDisk(t *testing.T, n *testnode.Node) error {
	t.Helper()
	noError(t, partition(t, n, 2))
	volumes, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: 2})
	noError(t, err)
	noError(t, n.Emulated.SetDiskReadOnly(2, true))
	return formatVolume(t, n, volumes.GetVolumeIds()[0])
}
