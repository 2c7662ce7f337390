// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// TestNoReparse: with OBJ_DONT_REPARSE no link on the way is followed, whatever it leads to, and one that is itself
// opened with FILE_OPEN_REPARSE_POINT is opened. The answers for a junction, on the way and as the last name, are those
// that Go's os.Root relies on (internal/syscall/windows, os/root_windows.go), those for a foreign tag were measured on
// Windows Server 2022 by github.com/chaitanyaSoni96/scratchpad, A5.
func TestNoReparse(t *testing.T) {
	n := newNode(t, nil)
	v := formatted(t, n, oneDrive)
	mkdir(t, n, `C:\a\b\c`)
	mkdir(t, n, `C:\mnt`)
	must(t, n.SetVolumeMountPoint(`C:\mnt\`, v))
	mkdir(t, n, `C:\mnt\data`)
	link(t, n, `C:\a\symlink`, symlink(`C:\a\b`))
	link(t, n, `C:\a\relative`, relative(`b`))
	link(t, n, `C:\a\junction`, win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_MOUNT_POINT, SubstituteName: `\??\C:\a\b`})
	link(t, n, `C:\a\dangling`, symlink(`C:\nowhere`))
	link(t, n, `C:\a\wof`, win32.ReparsePoint{Tag: 0x80000017, Raw: []byte{1, 2, 3, 4}})
	root := openFile(t, n, `\\?\C:\`, how(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
	native, err := root.FinalPath(win32.VOLUME_NAME_NT)
	must(t, err)
	const itself, refused = win32.FILE_OPEN_REPARSE_POINT, win32.ERROR_REPARSE_POINT_ENCOUNTERED
	for _, c := range []struct {
		path       string
		options    uint32
		on         win32.Errno // the links that are refused are those on the way
		everywhere win32.Errno
		never      win32.Errno
	}{
		{native + `a\b\c`, itself, 0, 0, 0},
		{native + `A\B\C`, 0, 0, 0, 0},
		{native + `a\symlink\c`, itself, refused, refused, 0},
		{native + `a\relative\c`, itself, refused, refused, 0},
		{native + `a\junction\c`, itself, refused, refused, 0},
		{native + `a\dangling\c`, itself, refused, refused, win32.ERROR_PATH_NOT_FOUND},
		{native + `mnt\data`, itself, refused, refused, 0},
		{native + `a\symlink`, itself, 0, refused, 0},
		{native + `mnt`, itself, 0, refused, 0},
		{native + `a\symlink`, 0, refused, refused, 0},
		{native + `a\wof\c`, itself, win32.ERROR_CANT_ACCESS_FILE, win32.ERROR_CANT_ACCESS_FILE,
			win32.ERROR_CANT_ACCESS_FILE},
		{native + `a\none`, itself, win32.ERROR_FILE_NOT_FOUND, win32.ERROR_FILE_NOT_FOUND, win32.ERROR_FILE_NOT_FOUND},
		{native + `none\c`, itself, win32.ERROR_PATH_NOT_FOUND, win32.ERROR_PATH_NOT_FOUND, win32.ERROR_PATH_NOT_FOUND},
		{`\\?\C:\a\b`, itself, refused, refused, 0}, // the drive letter is a link
		{`\\?\` + v[4:] + `data`, itself, refused, refused, 0},
		{`\Device\HarddiskVolume999\a`, itself, win32.ERROR_PATH_NOT_FOUND, win32.ERROR_PATH_NOT_FOUND,
			win32.ERROR_PATH_NOT_FOUND},
		{`\Device\Null\a`, itself, win32.ERROR_PATH_NOT_FOUND, win32.ERROR_PATH_NOT_FOUND, win32.ERROR_PATH_NOT_FOUND},
	} {
		for answer, want := range map[string]win32.Errno{LinksRefusedOnTheWay: c.on,
			LinksRefusedEverywhere: c.everywhere, LinksRefusedNever: c.never} {
			must(t, n.SetSwitch("linksRefused", answer))
			open := how(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, c.options)
			open.NoReparse = true
			h, err := n.OpenFile(nil, c.path, open)
			wantCode(t, answer+": "+c.path, err, want)
			if err == nil {
				must(t, h.Close())
			}
		}
	}

	// Names in an open directory.
	must(t, n.SetSwitch("linksRefused", string(LinksRefusedOnTheWay)))
	dir := openFile(t, n, `\\?\C:\a`, how(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
	for options, want := range map[uint32]win32.Errno{0: refused, itself: 0} {
		open := how(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, options)
		open.NoReparse = true
		h, err := n.OpenFile(dir, "symlink", open)
		wantCode(t, "in a directory", err, want)
		if err == nil {
			must(t, h.Close())
		}
	}
	for name, want := range map[string]win32.Errno{
		`b\c`: 0, `B\none`: win32.ERROR_FILE_NOT_FOUND, `none\c`: win32.ERROR_PATH_NOT_FOUND, `junction\c`: refused,
		`symlink\c`: refused, `b\..\b`: win32.ERROR_INVALID_NAME, `b\`: win32.ERROR_INVALID_NAME,
	} {
		open := how(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, itself)
		open.NoReparse = true
		h, err := n.OpenFile(dir, name, open)
		wantCode(t, name, err, want)
		if err == nil {
			must(t, h.Close())
		}
		open.NoReparse = false
		_, err = n.OpenFile(dir, name, open)
		wantCode(t, name+" without OBJ_DONT_REPARSE", err, win32.ERROR_INVALID_NAME)
	}
}

// The native path of what is open leads to it.
func TestNativePath(t *testing.T) {
	n := newNode(t, nil)
	mkdir(t, n, `C:\a\B`)
	link(t, n, `C:\link`, symlink(`C:\a`))
	h := openFile(t, n, `\\?\C:\link\b`, how(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
	native, err := h.FinalPath(win32.VOLUME_NAME_NT)
	must(t, err)
	if want := `\Device\HarddiskVolume3\a\B`; native != want {
		t.Errorf("got %s, want %s", native, want)
	}
	again := openFile(t, n, native, how(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
	if got, err := again.FinalPath(win32.VOLUME_NAME_DOS); err != nil || got != `\\?\C:\a\B` {
		t.Errorf("got %s, %v", got, err)
	}
}
