// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/calls"
)

// TestMountPointThatMoves: while the volume of a mount point is flushed, an administrator mounts the volume on which it
// lies elsewhere, and the path leads to another mount point. That one stays.
func TestMountPointThatMoves(t *testing.T) {
	const before, after, mount = KubeletDir + `\pods\before`, KubeletDir + `\pods\after`, `\tree\mount`
	ctx := t.Context()
	moved := false
	var other *Node
	var volumes []string
	n, k, made := withVolumes(t, false, func(k *emulated.Node, call kernel.Call, do func() error) error {
		if call.Function == "Flush" && other != nil && !moved {
			moved = true
			must(t, k.DeleteVolumeMountPoint(before+`\`))
			must(t, by(ctx, other).MountVolume(volumes[1], after))
			must(t, by(ctx, other).MountVolume(volumes[0], before+mount))
		}
		return do()
	})
	volumes = made
	must(t, by(ctx, n).MountVolume(volumes[1], before))
	must(t, by(ctx, n).MountVolume(volumes[0], before+mount))
	other = bare(t, k)
	must(t, by(ctx, n).Rmdir(before+`\tree`, true))
	if there, err := by(ctx, other).PathExists(after + `\tree`); !moved || err != nil || there {
		t.Errorf("moved: %t; the tree is there: %t, %v", moved, there, err)
	}
	paths, err := k.VolumePathNames(volumes[0])
	if want := []string{before + mount + `\`}; err != nil || !slices.Equal(paths, want) {
		t.Errorf("the mount manager lists %q, %v, want %q", paths, err, want)
	}
	if name, err := k.VolumeNameForMountPoint(before + mount + `\`); err != nil || name != volumes[0] {
		t.Errorf("the other mount point leads to %q, %v", name, err)
	}
}

// TestGhosts: the mount manager goes on listing a mount point that another program removed by itself. Nothing is
// mounted there, so the tree does not show it, and it keeps no iSCSI target connected.
func TestGhosts(t *testing.T) {
	k := emulate(t, emulated.Options{})
	n := bare(t, k)
	ctx := t.Context()
	const target, mount = "iqn.2026-01.emulated:open", KubeletDir + `\pods\mount`
	must(t, by(ctx, n).AddTargetPortal(calls.Array))
	must(t, by(ctx, n).ConnectTarget(target))
	disks, err := by(ctx, n).GetTargetDisks(target)
	must(t, err)
	number, err := strconv.ParseUint(disks[0], 10, 32)
	must(t, err)
	must(t, by(ctx, n).PartitionDisk(uint32(number)))
	ids, err := by(ctx, n).ListVolumesOnDisk(uint32(number))
	must(t, err)
	must(t, by(ctx, n).FormatVolume(ids[0]))
	must(t, by(ctx, n).MountVolume(ids[0], mount))
	if err := by(ctx, n).DisconnectTarget(target); !errdefs.HasReason(err, reason.TargetInUse) {
		t.Errorf("with a mounted volume: %v, want %s", err, reason.TargetInUse)
	}

	h, err := k.OpenFile(nil, `\\?\`+mount, kernel.OpenOptions{Access: win32.FILE_WRITE_ATTRIBUTES, Share: winfs.ShareAll,
		Disposition: win32.FILE_OPEN, Options: win32.FILE_OPEN_REPARSE_POINT})
	must(t, err)
	_, err = h.DeviceIoControl(win32.FSCTL_DELETE_REPARSE_POINT,
		win32.DeleteReparsePoint(win32.IO_REPARSE_TAG_MOUNT_POINT), nil)
	must(t, errors.Join(err, h.Close()))
	if paths, err := k.VolumePathNames(ids[0]); err != nil || len(paths) != 1 {
		t.Fatalf("the mount manager lists %q, %v, want a path where nothing is", paths, err)
	}
	volumes, err := n.Volumes.Facts(ctx)
	must(t, err)
	for _, v := range volumes.All {
		if v.GetId() == ids[0] && len(v.GetMountPoints()) > 0 {
			t.Errorf("the facts have %q", v.GetMountPoints())
		}
	}
	must(t, by(ctx, n).DisconnectTarget(target))
}

// A program that has a working directory open for a moment is waited for, as everywhere on the way.
func TestWorkingDirectoryOpenIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		n, _, _ := treeNode(t, func(_ context.Context, call kernel.Call, do func() error) error {
			if call.Function == "OpenFile" && call.Object == `\\?\`+KubeletDir {
				if opened++; opened <= 2 {
					return &kernel.Error{Function: "NtCreateFile", Object: call.Object, Code: win32.ERROR_SHARING_VIOLATION}
				}
			}
			return do()
		})
		opened = 0
		if err := by(t.Context(), n).RmdirContents(treePath); err != nil || opened != 3 {
			t.Errorf("after %d openings: %v", opened, err)
		}
	})
}
