// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ntpath"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ondisk"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

// openNode opens a node that is closed when the test ends.
func openNode(t *testing.T, dir string, o Options) *Node {
	t.Helper()
	n, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	for _, name := range scenario.KnownPrivileges() {
		if !n.state.Switches.LacksPrivilege(name) {
			must(t, n.EnablePrivilege(name))
		}
	}
	return n
}

func newNode(t *testing.T, edit func(*scenario.Switches)) *Node {
	t.Helper()
	s := scenario.Default()
	if edit != nil {
		edit(&s.Switches)
	}
	return openNode(t, t.TempDir(), Options{Scenario: &s})
}

// encodeState returns the text of node.json.
func encodeState(s state) ([]byte, error) {
	text, err := json.MarshalIndent(stateText{stateFormat, s}, "", "  ")
	return append(text, '\n'), err
}

// wantCode checks that an error is a kernel.Error with the code; 0: no error.
func wantCode(t *testing.T, what string, err error, want win32.Errno) {
	t.Helper()
	if want == 0 {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	var k *kernel.Error
	if !errors.As(err, &k) || k.Code != want || k.Function == "" {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const readWrite = win32.GENERIC_READ | win32.GENERIC_WRITE

func openDevice(t *testing.T, n *Node, path string, access uint32) kernel.Handle {
	t.Helper()
	h, err := n.OpenDevice(path, access)
	must(t, err)
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func control(t *testing.T, h kernel.Handle, code uint32, in []byte) {
	t.Helper()
	_, err := h.DeviceIoControl(code, in, nil)
	must(t, err)
}

func diskLayout(t *testing.T, h kernel.Handle) win32.DriveLayout {
	t.Helper()
	out := make([]byte, 20000)
	n, err := h.DeviceIoControl(win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil, out)
	must(t, err)
	l, err := win32.ParseDriveLayout(out[:n])
	must(t, err)
	return l
}

// partition makes a GPT with a data partition on a disk and returns its volume name.
func partition(t *testing.T, n *Node, disk string) string {
	t.Helper()
	h := openDevice(t, n, disk, readWrite)
	control(t, h, win32.IOCTL_DISK_CREATE_DISK, win32.CreateDisk{Style: win32.PARTITION_STYLE_GPT, DiskID: ondisk.NewGUID(),
		MaxPartitionCount: 128}.Bytes())
	planned, data, err := win32.PlanDataPartition(diskLayout(t, h), 16<<20,
		func() (guid.GUID, error) { return ondisk.NewGUID(), nil })
	must(t, err)
	control(t, h, win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX, planned.Bytes())
	return ntpath.VolumeName(data.ID)
}

func formatted(t *testing.T, n *Node, disk string) string {
	t.Helper()
	v := partition(t, n, disk)
	must(t, n.FormatVolume(v, "NTFS"))
	return v
}

// mounted formats disk 1, mounts its volume at a directory, which it makes, and returns the volume's name.
func mounted(t *testing.T, n *Node, dir string) string {
	t.Helper()
	v := formatted(t, n, oneDrive)
	mkdir(t, n, dir)
	must(t, n.SetVolumeMountPoint(dir+`\`, v))
	return v
}

// erase deletes a file at once.
func erase(h kernel.Handle) error {
	return h.SetInformation(win32.FileDispositionInfoEx,
		win32.FileDispositionEx(win32.FILE_DISPOSITION_FLAG_DELETE|win32.FILE_DISPOSITION_FLAG_POSIX_SEMANTICS))
}

// how returns OpenOptions that shares everything.
func how(access, disposition, options uint32) kernel.OpenOptions {
	return kernel.OpenOptions{Access: access, Share: shareAll, Disposition: disposition, Options: options}
}

const anyRight = win32.FILE_LIST_DIRECTORY | win32.FILE_READ_ATTRIBUTES | win32.FILE_WRITE_ATTRIBUTES | win32.DELETE

// mkdir makes a directory with its parents, and returns its path with the prefix \\?\.
func mkdir(t *testing.T, n *Node, path string) string {
	t.Helper()
	at := `\\?\` + path[:3]
	for i, name := range strings.Split(path[3:], `\`) {
		if i > 0 {
			at += `\`
		}
		at += name
		h, err := n.OpenFile(nil, at, how(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN_IF, win32.FILE_DIRECTORY_FILE))
		must(t, err)
		must(t, h.Close())
	}
	return at
}

func openFile(t *testing.T, n *Node, path string, h kernel.OpenOptions) kernel.Handle {
	t.Helper()
	f, err := n.OpenFile(nil, path, h)
	must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// link makes a reparse point, and the directories above it.
func link(t *testing.T, n *Node, path string, r win32.ReparsePoint) {
	t.Helper()
	mkdir(t, n, path)
	must(t, reparse.Plant(n, path, r))
}

func attributes(t *testing.T, h kernel.Handle) win32.FileAttributeTag {
	t.Helper()
	out := make([]byte, 8)
	must(t, h.Information(win32.FileAttributeTagInfo, out))
	a, err := win32.ParseFileAttributeTag(out)
	must(t, err)
	return a
}

func list(t *testing.T, h kernel.Handle) (names []string) {
	t.Helper()
	class := uint32(win32.FileFullDirectoryRestartInfo)
	for {
		out := make([]byte, 300)
		err := h.Information(class, out)
		if errors.Is(err, win32.ERROR_NO_MORE_FILES) {
			return names
		}
		must(t, err)
		entries, err := win32.ParseDirectoryEntries(out)
		must(t, err)
		for _, e := range entries {
			names = append(names, e.Name)
		}
		class = win32.FileFullDirectoryInfo
	}
}
