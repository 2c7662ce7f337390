// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

func TestLinksAreFollowed(t *testing.T) {
	n := newNode(t, nil)
	v := formatted(t, n, oneDrive)
	mkdir(t, n, `C:\a\b\c`)
	mkdir(t, n, `C:\mnt`)
	must(t, n.SetVolumeMountPoint(`C:\mnt\`, v))
	mkdir(t, n, `C:\mnt\data`)
	link(t, n, `C:\a\abs`, reparse.Symlink(`C:\a\b`))
	link(t, n, `C:\a\rel`, reparse.Relative(`..\a\.\b`))
	link(t, n, `C:\a\rooted`, reparse.Relative(`\a\b`))
	link(t, n, `C:\a\above`, reparse.Relative(`..\..\x`))
	link(t, n, `C:\a\junction`, reparse.Junction(`C:\a\b`))
	link(t, n, `C:\a\volume`, reparse.Symlink(`C:\mnt\data`))
	link(t, n, `C:\a\two`, reparse.Symlink(`C:\a\abs\c`))
	link(t, n, `C:\a\loop`, reparse.Symlink(`C:\a\loop`))
	link(t, n, `C:\a\dangling`, reparse.Symlink(`C:\nowhere\x`))
	link(t, n, `C:\a\share`, win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_SYMLINK,
		SubstituteName: `\??\UNC\server\share\`})
	link(t, n, `C:\a\wof`, win32.ReparsePoint{Tag: 0x80000017, Raw: []byte{1, 2, 3, 4}})
	for _, c := range []struct {
		path, final string
		want        win32.Errno
	}{
		{`C:\a\abs\c`, `\\?\C:\a\b\c`, 0},
		{`C:\a\REL\c`, `\\?\C:\a\b\c`, 0},
		{`C:\a\rooted`, `\\?\C:\a\b`, 0},
		{`C:\a\junction\c`, `\\?\C:\a\b\c`, 0},
		{`C:\a\two`, `\\?\C:\a\b\c`, 0},
		{`C:\a\volume`, `\\?\C:\mnt\data`, 0},
		{`C:\mnt`, `\\?\C:\mnt`, 0},
		{`C:\a\above`, "", win32.ERROR_CANT_RESOLVE_FILENAME},
		{`C:\a\loop`, "", win32.ERROR_CANT_RESOLVE_FILENAME},
		{`C:\a\dangling`, "", win32.ERROR_PATH_NOT_FOUND},
		{`C:\a\share\x`, "", win32.ERROR_BAD_NETPATH},
		{`C:\a\wof`, "", win32.ERROR_CANT_ACCESS_FILE},
	} {
		h, err := n.OpenFile(nil, `\\?\`+c.path, how(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, 0))
		wantCode(t, c.path, err, c.want)
		if err != nil {
			continue
		}
		if got, err := h.FinalPath(win32.VOLUME_NAME_DOS); err != nil || got != c.final {
			t.Errorf("%s: got %s, %v, want %s", c.path, got, err, c.final)
		}
		must(t, h.Close())
	}
	itself := openFile(t, n, `\\?\C:\a\dangling`,
		how(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, win32.FILE_OPEN_REPARSE_POINT))
	if got := attributes(t, itself).ReparseTag; got != win32.IO_REPARSE_TAG_SYMLINK {
		t.Errorf("dangling link: tag %#x", got)
	}
}

func TestAtMost63ReparsePoints(t *testing.T) {
	n := newNode(t, nil)
	mkdir(t, n, `C:\l`)
	for i := 1; i <= 64; i++ {
		link(t, n, fmt.Sprintf(`C:\l\%d`, i), reparse.Symlink(fmt.Sprintf(`C:\l\%d`, i-1)))
	}
	mkdir(t, n, `C:\l\0`)
	_, err := n.OpenFile(nil, `\\?\C:\l\63`, how(0, win32.FILE_OPEN, 0))
	wantCode(t, "63 links", err, 0)
	_, err = n.OpenFile(nil, `\\?\C:\l\64`, how(0, win32.FILE_OPEN, 0))
	wantCode(t, "64 links", err, win32.ERROR_CANT_RESOLVE_FILENAME)
}

func TestReparsePointsAreSetReadAndDeleted(t *testing.T) {
	n := newNode(t, nil)
	mkdir(t, n, `C:\d\full\x`)
	mkdir(t, n, `C:\d\e`)
	open := func(path string, access uint32) func(code uint32, in []byte) error {
		h := openFile(t, n, path, how(access, win32.FILE_OPEN, win32.FILE_OPEN_REPARSE_POINT))
		return func(code uint32, in []byte) error { _, err := h.DeviceIoControl(code, in, nil); return err }
	}
	want := reparse.Symlink(`C:\Windows`)
	wantCode(t, "on a directory that is not empty",
		open(`\\?\C:\d\full`, win32.FILE_WRITE_ATTRIBUTES)(win32.FSCTL_SET_REPARSE_POINT, want.Bytes()),
		win32.ERROR_DIR_NOT_EMPTY)
	wantCode(t, "without the right", open(`\\?\C:\d\e`, win32.FILE_READ_ATTRIBUTES)(win32.FSCTL_SET_REPARSE_POINT,
		want.Bytes()), win32.ERROR_ACCESS_DENIED)
	e := open(`\\?\C:\d\e`, win32.FILE_WRITE_ATTRIBUTES)
	wantCode(t, "garbage", e(win32.FSCTL_SET_REPARSE_POINT, []byte{1, 2}), win32.ERROR_INVALID_REPARSE_DATA)
	wantCode(t, "delete what is not there", e(win32.FSCTL_DELETE_REPARSE_POINT, win32.DeleteReparsePoint(want.Tag)),
		win32.ERROR_NOT_A_REPARSE_POINT)
	must(t, e(win32.FSCTL_SET_REPARSE_POINT, want.Bytes()))
	wantCode(t, "another tag", e(win32.FSCTL_SET_REPARSE_POINT, win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_MOUNT_POINT,
		SubstituteName: `\??\C:\d`}.Bytes()), win32.ERROR_REPARSE_TAG_MISMATCH)
	want = reparse.Symlink(`C:\d`)
	must(t, e(win32.FSCTL_SET_REPARSE_POINT, want.Bytes()))

	h := openFile(t, n, `\\?\C:\d\e`, how(win32.FILE_READ_ATTRIBUTES|win32.FILE_LIST_DIRECTORY, win32.FILE_OPEN,
		win32.FILE_OPEN_REPARSE_POINT))
	out := make([]byte, win32.MAXIMUM_REPARSE_DATA_BUFFER_SIZE)
	size, err := h.DeviceIoControl(win32.FSCTL_GET_REPARSE_POINT, nil, out)
	must(t, err)
	got, err := win32.ParseReparsePoint(out[:size])
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	_, err = h.DeviceIoControl(win32.FSCTL_GET_REPARSE_POINT, nil, out[:20])
	wantCode(t, "small buffer", err, win32.ERROR_MORE_DATA)
	d := openFile(t, n, `\\?\C:\d`, how(win32.FILE_LIST_DIRECTORY, win32.FILE_OPEN, 0))
	buffer := make([]byte, 4096)
	must(t, d.Information(win32.FileFullDirectoryRestartInfo, buffer))
	entries, err := win32.ParseDirectoryEntries(buffer)
	must(t, err)
	if e := entries[2]; e.Name != "e" || e.ReparseTag != win32.IO_REPARSE_TAG_SYMLINK || e.Attributes != 0x410 {
		t.Errorf("listed: %+v", e)
	}

	wantCode(t, "wrong tag", e(win32.FSCTL_DELETE_REPARSE_POINT,
		win32.DeleteReparsePoint(win32.IO_REPARSE_TAG_MOUNT_POINT)), win32.ERROR_REPARSE_TAG_MISMATCH)
	must(t, e(win32.FSCTL_DELETE_REPARSE_POINT, win32.DeleteReparsePoint(want.Tag)))
	if a := attributes(t, h); a.Attributes != win32.FILE_ATTRIBUTE_DIRECTORY {
		t.Errorf("left: attributes %#x", a.Attributes)
	}
}
