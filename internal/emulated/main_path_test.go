// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
)

// A driver's work with a disk, from blank to detached, across a restart of the agent.
func TestDiskLifecycle(t *testing.T) {
	dir := t.TempDir()
	n := openNode(t, dir, Options{})
	v := formatted(t, n, `\\.\PhysicalDrive1`)
	names, err := n.VolumeNames()
	must(t, err)
	if len(names) != 3 || names[2] != v {
		t.Fatalf("volumes: got %q, want EFI, C and %s", names, v)
	}
	target := `C:\var\lib\kubelet\plugins\pv1\globalmount`
	mkdir(t, n, target)
	must(t, n.SetVolumeMountPoint(target+`\`, v))
	host, err := n.HostPath(target + `\data.txt`)
	must(t, err)
	must(t, os.WriteFile(host, make([]byte, 5000), 0o600))
	total, free, err := n.DiskFreeSpace(target)
	must(t, err)
	if total < 10<<30-20<<20 || total > 10<<30 || total-free != 16<<20+8192 {
		t.Errorf("space: total %d, used %d", total, total-free)
	}

	must(t, n.Close())
	n = openNode(t, dir, Options{})
	paths, err := n.VolumePathNames(v)
	must(t, err)
	if diff := cmp.Diff([]string{target + `\`}, paths); diff != "" {
		t.Errorf("path names after a restart (-want +got):\n%s", diff)
	}
	again, err := n.HostPath(target + `\DATA.TXT`)
	must(t, err)
	if again != host || filepath.Dir(filepath.Dir(host)) != filepath.Join(n.disks[1].image.Home, bundle.VolumesDir) {
		t.Errorf("host path: got %s, want %s", again, host)
	}
	name, err := n.VolumeNameForMountPoint(target + `\`)
	must(t, err)
	if name != v {
		t.Errorf("mounted: got %s, want %s", name, v)
	}
	link, err := n.Readlink(target)
	must(t, err)
	if link != v {
		t.Errorf("link: got %s, want %s", link, v)
	}

	image, err := n.DetachDisk(1)
	must(t, err)
	_, err = n.VolumeNameForMountPoint(target + `\`)
	wantCode(t, "name of a volume that is gone", err, win32.ERROR_FILE_NOT_FOUND)
	_, err = n.HostPath(target + `\x`)
	wantCode(t, "path below a volume that is gone", err, win32.ERROR_PATH_NOT_FOUND)

	number, err := n.AttachDisk(bundle.Spec{ImagePath: image, LUNAuto: true})
	must(t, err)
	if number != 1 {
		t.Errorf("number: got %d, want 1", number)
	}
	if again, err = n.HostPath(target + `\data.txt`); err != nil || filepath.Dir(again) != filepath.Dir(host) {
		t.Errorf("after attaching again: got %s, %v, want it beside %s", again, err, host)
	}
	if _, err := os.Stat(again); err != nil {
		t.Error(err)
	}
	must(t, n.DeleteVolumeMountPoint(target+`\`))
	_, err = n.VolumeNameForMountPoint(target + `\`)
	wantCode(t, "plain directory", err, win32.ERROR_NOT_A_REPARSE_POINT)
}
