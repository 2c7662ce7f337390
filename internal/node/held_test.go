// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// TestMountPointsAreHeld: while Windows makes or removes a mount point by its path, nobody can remove or rename any part
// of that path, the mount point itself included.
func TestMountPointsAreHeld(t *testing.T) {
	k, err := emulated.Open(t.TempDir(), emulated.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = k.Close() }()
	calls := map[string]int{}
	n, err := New(k, Config{WorkingDirs: []string{KubeletDir}, Interceptor: func(_ context.Context, call kernel.Call, do func() error) error {
		if call.Function == "SetVolumeMountPoint" || call.Function == "DeleteVolumeMountPoint" {
			calls[call.Function]++
			for path := strings.TrimSuffix(call.Object, `\`); len(path) > len(`\\?\`+KubeletDir); path = path[:strings.LastIndex(path, `\`)] {
				h, err := k.OpenFile(nil, path, kernel.OpenHow{Access: win32.DELETE, Share: shareAll, Disposition: win32.FILE_OPEN, Options: win32.FILE_OPEN_REPARSE_POINT})
				if !errors.Is(err, win32.ERROR_SHARING_VIOLATION) {
					t.Errorf("%s %s: %s can be opened for deletion: %v", call.Function, call.Object, path, err)
				}
				if err == nil {
					_ = h.Close()
				}
			}
		}
		return do()
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, must := t.Context(), func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(n.Disks.PartitionDisk(ctx, 1))
	ids, err := n.Volumes.ListVolumesOnDisk(ctx, 1, 0)
	must(err)
	must(n.Volumes.FormatVolume(ctx, ids[0]))
	const pod, mount = KubeletDir + `\pods\uid`, KubeletDir + `\pods\uid\volumes\mount`
	for _, remove := range []func() error{
		func() error { return n.Volumes.UnmountVolume(ctx, ids[0], mount) },
		func() error { return n.Filesystem.Rmdir(ctx, mount, false) },
		func() error { return n.Filesystem.Rmdir(ctx, pod, true) },
		func() error { return n.Filesystem.RmdirContents(ctx, KubeletDir+`\pods`) },
	} {
		must(n.Volumes.MountVolume(ctx, ids[0], mount))
		must(remove())
	}
	if calls["SetVolumeMountPoint"] != 4 || calls["DeleteVolumeMountPoint"] != 4 {
		t.Errorf("the calls were %v, want each four times", calls)
	}
	if paths, err := k.VolumePathNames(ids[0]); err != nil || len(paths) > 0 {
		t.Errorf("the mount manager lists %q, %v", paths, err)
	}
}
