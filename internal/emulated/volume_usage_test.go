// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

// The files of a volume are counted again each time, as drivers write them without the node's knowledge.
func TestUsageOfAVolume(t *testing.T) {
	n := newNode(t, nil)
	v := formatted(t, n, oneDrive)
	used := func() uint64 {
		t.Helper()
		total, free, err := n.DiskFreeSpace(v)
		must(t, err)
		return total - free
	}
	empty := used()
	mkdir(t, n, `C:\m`)
	must(t, n.SetVolumeMountPoint(`C:\m\`, v))
	top := hostPath(t, n, `C:\m\`)
	outside := filepath.Join(t.TempDir(), "outside")
	must(t, os.WriteFile(outside, make([]byte, 1<<20), 0o600))

	const cluster = 4096
	files := map[string]int64{"one": 1, "whole": cluster, "more": cluster + 1, "none": 0}
	deep := strings.Repeat("d/", 20)
	must(t, os.MkdirAll(filepath.Join(top, deep), 0o700))
	for i := range 300 { // more than one read of the directory returns
		files[fmt.Sprintf("%s%03d-%s", deep, i, strings.Repeat("x", 60))] = 10
	}
	want := empty
	for name, size := range files {
		f, err := os.Create(filepath.Join(top, name))
		must(t, err)
		must(t, f.Truncate(size))
		must(t, f.Close())
		want += uint64(size+cluster-1) / cluster * cluster
	}
	if got := used(); got != want {
		t.Errorf("with %d files: got %d bytes, want %d", len(files), got, want)
	}

	mkdir(t, n, `C:\m\link`)
	link(t, n, `C:\m\link`, reparse.Symlink(`C:\Windows`)) // its data is in a file with a reserved name
	must(t, os.WriteFile(filepath.Join(top, hostfiles.ReservedPrefix+"-x"), make([]byte, 1<<20), 0o600))
	if err := os.Symlink(outside, filepath.Join(top, "planted")); err != nil {
		t.Log("no link of the host: ", err)
	}
	if got := used(); got != want {
		t.Errorf("with links: got %d bytes, want %d", got, want)
	}

	must(t, os.RemoveAll(filepath.Join(top, "d")))
	want -= 300 * cluster
	if got := used(); got != want {
		t.Errorf("after files were deleted: got %d bytes, want %d", got, want)
	}
	must(t, n.FormatVolume(v, "NTFS"))
	if got := used(); got != empty {
		t.Errorf("formatted: got %d bytes, want %d", got, empty)
	}
	// A process that uses a mounted volume finds it empty.
	if entries, err := os.ReadDir(top); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
	_, err := n.DetachDisk(1)
	must(t, err)
	_, _, err = n.DiskFreeSpace(v)
	wantCode(t, "detached", err, win32.ERROR_FILE_NOT_FOUND)
}

// TestFullVolume: a volume that the files in its root directory fill takes no more, and says so.
func TestFullVolume(t *testing.T) {
	n := newNode(t, nil)
	v := mounted(t, n, `C:\m`)
	total, _, err := n.DiskFreeSpace(v)
	must(t, err)
	fill := filepath.Join(hostPath(t, n, `C:\m\`), "fill")
	must(t, os.WriteFile(fill, nil, 0o600))
	must(t, os.Truncate(fill, int64(total)))
	if _, free, err := n.DiskFreeSpace(v); err != nil || free != 0 {
		t.Errorf("%d bytes are free, %v", free, err)
	}
	create := func() error {
		h, err := n.OpenFile(nil, `\\?\C:\m\new`, kernel.OpenOptions{Disposition: win32.FILE_CREATE,
			Options: win32.FILE_DIRECTORY_FILE})
		if err == nil {
			err = h.Close()
		}
		return err
	}
	wantCode(t, "full", create(), win32.ERROR_DISK_FULL)
	mkdir(t, n, `C:\elsewhere`)
	must(t, os.Truncate(fill, 0))
	wantCode(t, "with room again", create(), 0)
}
