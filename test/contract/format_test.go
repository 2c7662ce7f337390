// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// TestFormatOfAnEmptyNTFS: a volume on which only Windows has written is formatted already.
func TestFormatOfAnEmptyNTFS(t *testing.T) {
	for _, erase := range []bool{false, true} {
		n := caller.Start(t, testnode.Options{EraseOnFormat: erase})
		id := n.Mounted(1)
		for _, below := range []string{"System Volume Information/IndexerVolumeGuid", "$RECYCLE.BIN/S-1-5-18/desktop.ini"} {
			n.WriteBelow(staging, below)
			n.OK(n.FormatVolume(id))
			if !n.Exists(staging + `\` + strings.ReplaceAll(below, "/", `\`)) {
				t.Errorf("erase=%t: the volume was formatted again", erase)
			}
		}
	}
}

// TestEmptyRootDirectory: the first listing of a root directory without entries fails on Windows, and the volume is
// empty all the same.
func TestEmptyRootDirectory(t *testing.T) {
	forContainerUser := []*nodesteps.AccessEntry{
		{Sid: "S-1-5-93-2-2", Rights: nodesteps.AccessRights_ACCESS_RIGHTS_MODIFY},
	}
	for _, notFound := range []string{"true", "false"} {
		n := caller.Start(t, testnode.Options{})
		n.SetSwitch("emptyRootNotFound", notFound)
		n.FailAfter(csiproxytest.Calls{Function: "FormatVolume", Times: 1}, csiproxytest.ERROR_BUSY) // and is looked at again
		n.OK(n.FormatVolume(n.Formatted(1)))
		if formatted := n.Called("FormatVolume"); len(formatted) != 1 {
			t.Errorf("not found: %s: formatted %d times", notFound, len(formatted))
		}
		for _, want := range []nodesteps.AccessResult{nodesteps.AccessResult_ACCESS_RESULT_ADDED,
			nodesteps.AccessResult_ACCESS_RESULT_PRESENT} {
			staged, err := n.Steps().StageDisk(t.Context(),
				&nodesteps.StageDiskRequest{Disk: byNumber(1), TargetPath: staging, Access: forContainerUser})
			if err != nil || staged.GetAccess() != want {
				t.Errorf("not found: %s: the access list: %v, %v, want %v", notFound, staged.GetAccess(), err, want)
			}
		}
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
			for _, erase := range []bool{false, true} {
				n := caller.Start(t, testnode.Options{EraseOnFormat: erase})
				id := n.Mounted(1)
				n.WriteBelow(staging, files[name])
				if erase {
					n.OK(n.FormatVolume(id))
				} else {
					n.Refused(n.FormatVolume(id), codes.FailedPrecondition, "VOLUME_NOT_EMPTY", "-erase-on-format")
				}
				if entries, err := os.ReadDir(n.HostPath(staging)); err != nil || (len(entries) == 0) != erase {
					t.Errorf("erase=%t: %v, %v", erase, entries, err)
				}
			}
		})
	}
	for _, name := range []string{"System Volume Information", "$RECYCLE.BIN"} { // a link of that name
		n := caller.Start(t, testnode.Options{})
		id := n.Mounted(1)
		n.OK(n.CreateSymlink(podsPath, staging+`\`+name))
		n.Refused(n.FormatVolume(id), codes.FailedPrecondition, "VOLUME_NOT_EMPTY")
	}
}

// TestFormatNeverErasesSystemVolumes: Windows' own volumes, and those that something uses.
func TestFormatNeverErasesSystemVolumes(t *testing.T) {
	t.Parallel()
	n := caller.Start(t, testnode.Options{EraseOnFormat: true})
	for _, id := range n.Volumes(0) {
		n.Refused(n.FormatVolume(id), codes.FailedPrecondition, "SYSTEM_DISK")
	}
	id := n.Mounted(1)
	n.WriteFile(staging+`\data`, "precious")
	file, err := n.Emulated.OpenFile(nil, `\\?\C:`+staging+`\data`, kernel.OpenOptions{
		Access: win32.FILE_READ_DATA, Share: win32.FILE_SHARE_READ, Disposition: win32.FILE_OPEN,
	})
	n.OK(err)
	n.Refused(n.FormatVolume(id), codes.FailedPrecondition, "VOLUME_IN_USE", "open")
	n.OK(file.Close())
	n.WriteBelow(staging, "pagefile.sys")
	n.Refused(n.FormatVolume(id), codes.FailedPrecondition, "VOLUME_IN_USE", "page file")
	n.Holds(staging+`\data`, "precious")
	n.OK(os.Remove(n.HostPath(staging + `\pagefile.sys`)))
	n.OK(n.FormatVolume(id))
}

// TestBusyFormatChecksAgain: a file written while the volume was busy is kept.
func TestBusyFormatChecksAgain(t *testing.T) {
	n := caller.Start(t, testnode.Options{EraseOnFormat: true})
	id := n.Mounted(1)
	n.WriteFile(staging+`\data`, "precious")
	n.Once("FormatVolume", win32.ERROR_BUSY)
	// The second check finds the volume locked.
	n.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.FSCTL_LOCK_VOLUME, Skip: 1,
		Error: win32.ERROR_IO_DEVICE})
	n.Code(n.FormatVolume(id), codes.Unavailable, "lock")
	n.Holds(staging+`\data`, "precious")
}
