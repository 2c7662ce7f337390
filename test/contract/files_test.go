// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	fs "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

func rmdir(t *testing.T, n *testnode.Node, path string, force bool) error {
	t.Helper()
	_, err := n.Filesystem.Rmdir(t.Context(), &fs.RmdirRequest{Path: path, Force: force})
	return err
}

// FAT and exFAT know no reparse points and no POSIX deletion. A volume that was formatted elsewhere is walked all the
// same.
func TestVolumeWithoutReparsePoints(t *testing.T) {
	s, err := emulated.ParseScenario("disk", []byte("disks: [{size: 1GiB, content: formatted, fileSystem: exFAT}]"))
	noError(t, err)
	n := testnode.Start(t, testnode.Options{Emulated: emulated.Options{Scenario: &s}})
	volumes, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: 1})
	noError(t, err)
	wantReason(t, formatVolume(t, n, volumes.GetVolumeIds()[0]), codes.FailedPrecondition, "VOLUME_NOT_BLANK", "exFAT")
	_, err = n.Volume.MountVolume(t.Context(),
		&volume.MountVolumeRequest{VolumeId: volumes.GetVolumeIds()[0], TargetPath: staging})
	noError(t, err)
	mkdir(t, n, staging+`\a\b\c`)
	n.WriteFile(staging+`\a\b\file`, "x")
	n.WriteFile(staging+`\a\fixed`, "x")
	noError(t, os.Chmod(n.HostPath(staging+`\a\fixed`), 0o400))
	if !exists(t, n, staging+`\a\b\file`) || exists(t, n, staging+`\a\missing`) || isSymlink(t, n, staging+`\a\b`) {
		t.Error("what is there, and what is not, is not told")
	}
	usage, err := n.Client().NodeSteps.GetUsage(t.Context(), &nodesteps.GetUsageRequest{TargetPath: staging})
	noError(t, err)
	if usage.GetTotalBytes() < 900<<20 || usage.GetUsedBytes() != 2<<12 {
		t.Errorf("the usage is %+v, want two clusters", usage)
	}
	wantCode(t, rmdir(t, n, staging+`\a\b`, false), codes.FailedPrecondition)
	noError(t, rmdir(t, n, staging+`\a\b\c`, false))
	noError(t, rmdir(t, n, staging+`\a`, true))
	if exists(t, n, staging+`\a`) {
		t.Error("a directory is still there")
	}
	_, err = n.Volume.UnmountVolume(t.Context(),
		&volume.UnmountVolumeRequest{VolumeId: volumes.GetVolumeIds()[0], TargetPath: staging})
	noError(t, err)
}

// democratic-csi removes without force and reads the sentence of Windows for success.
func TestRemovalOfAMissingPathHasWindowsSentence(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	const sentence = "The system cannot find the file specified"
	for _, path := range []string{podsPath + `\missing`, podsPath + `\missing\below`} {
		err := rmdir(t, n, path, false)
		wantCode(t, err, codes.NotFound)
		if err != nil && !strings.Contains(err.Error(), sentence) {
			t.Errorf("%s: %v", path, err)
		}
	}
	mkdir(t, n, podsPath+`\a\b`)
	if err := rmdir(t, n, podsPath+`\a`, false); err == nil || strings.Contains(err.Error(), sentence) {
		t.Errorf("a directory that is not empty: %v", err)
	}
}

// On a file system without POSIX deletion, such as FAT and many servers, a file goes when it is closed, and a read-only
// file only when it no longer is read-only.
func TestRemovalWithoutPOSIXSemantics(t *testing.T) {
	for _, code := range []win32.Errno{
		win32.ERROR_INVALID_PARAMETER, win32.ERROR_NOT_SUPPORTED, win32.ERROR_INVALID_FUNCTION, win32.ERROR_INVALID_LEVEL,
	} {
		t.Run(code.Name(), func(t *testing.T) {
			n := testnode.Start(t, testnode.Options{})
			mkdir(t, n, podsPath+`\a\b`)
			n.WriteFile(podsPath+`\a\b\file`, "x")
			n.WriteFile(podsPath+`\a\fixed`, "x")
			noError(t, os.Chmod(n.HostPath(podsPath+`\a\fixed`), 0o400))
			published(t, n)
			n.Faults.Add(testnode.Fault{Function: "SetInformation", Code: win32.FileDispositionInfoEx, Error: code})
			wantCode(t, rmdir(t, n, podsPath+`\a`, false), codes.FailedPrecondition)
			noError(t, rmdir(t, n, podsPath+`\a`, true))
			noError(t, rmdir(t, n, publish, false))
			if exists(t, n, podsPath+`\a`) || exists(t, n, publish) {
				t.Error("they are still there")
			}
		})
	}
	t.Run("what is not removed stays read-only", func(t *testing.T) {
		n := testnode.Start(t, testnode.Options{})
		mkdir(t, n, podsPath+`\a`)
		n.WriteFile(podsPath+`\a\fixed`, "x")
		noError(t, os.Chmod(n.HostPath(podsPath+`\a\fixed`), 0o400))
		n.Faults.Add(testnode.Fault{Function: "SetInformation", Code: win32.FileDispositionInfoEx,
			Error: win32.ERROR_INVALID_PARAMETER})
		n.Faults.Add(testnode.Fault{Function: "SetInformation", Code: win32.FileDispositionInfo, Object: `\fixed`,
			Error: win32.ERROR_IO_DEVICE})
		wantCode(t, rmdir(t, n, podsPath+`\a`, true), codes.Unavailable)
		info, err := os.Stat(n.HostPath(podsPath + `\a\fixed`))
		noError(t, err)
		if info.Mode().Perm()&0o200 != 0 {
			t.Errorf("the file is %v now", info.Mode())
		}
	})
}
