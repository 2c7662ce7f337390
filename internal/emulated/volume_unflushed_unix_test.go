// SPDX-License-Identifier: Apache-2.0

//go:build unix

package emulated

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
)

// TestWritesAfterTheFlush: a file that is open when its disk goes offline loses what was written after the flush.
func TestWritesAfterTheFlush(t *testing.T) {
	for name, c := range map[string]struct {
		between func(t *testing.T, n *Node, file *fileHandle)
		want    string
	}{
		"open":    {func(*testing.T, *Node, *fileHandle) {}, "one"},
		"renamed": {func(t *testing.T, n *Node, file *fileHandle) { must(t, file.Rename(openRoot(t, n), "new")) }, "one"},
		"closed":  {func(t *testing.T, _ *Node, file *fileHandle) { must(t, file.Close()) }, "one two three"},
		"flushed again": {func(t *testing.T, n *Node, _ *fileHandle) {
			must(t, openDevice(t, n, `\\.\X:`, readWrite).Flush())
		}, "one two"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, nil)
			v := formatted(t, n, oneDrive)
			must(t, n.SetVolumeMountPoint(`X:\`, v))
			file := openFile(t, n, `\\?\X:\file`, how(win32.FILE_WRITE_DATA|win32.DELETE, win32.FILE_CREATE, 0)).(*fileHandle)
			process, err := os.OpenFile(hostPath(t, n, `X:\file`), os.O_WRONLY|os.O_APPEND, 0)
			must(t, err)
			defer process.Close()
			write := func(text string) {
				t.Helper()
				_, err := process.WriteString(text)
				must(t, err)
			}
			write("one")
			volume := openDevice(t, n, v[:len(v)-1], readWrite)
			_, err = volume.DeviceIoControl(win32.FSCTL_LOCK_VOLUME, nil, nil)
			wantCode(t, "lock", err, win32.ERROR_ACCESS_DENIED)
			must(t, volume.Flush())
			write(" two")
			c.between(t, n, file)
			must(t, n.SetDiskOnline(1, false))
			write(" three")
			must(t, n.SetDiskOnline(1, true))

			files, err := filepath.Glob(filepath.Join(hostPath(t, n, `X:\`), "*"))
			must(t, err)
			if len(files) != 1 {
				t.Fatalf("the volume has %q", files)
			}
			got, err := os.ReadFile(files[0])
			must(t, err)
			if string(got) != c.want {
				t.Errorf("the file has %q, want %q", got, c.want)
			}
			left, err := filepath.Glob(filepath.Join(n.dir, bundle.DisksDir, "*", bundle.VolumesDir, hostfiles.DroppedPrefix+"*"))
			must(t, err)
			if len(left) > 0 {
				t.Errorf("copies are left: %q", left)
			}
		})
	}
}

func openRoot(t *testing.T, n *Node) *fileHandle {
	t.Helper()
	return openFile(t, n, `\\?\X:\`, how(win32.FILE_LIST_DIRECTORY, win32.FILE_OPEN, 0)).(*fileHandle)
}
