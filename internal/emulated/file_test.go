// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

func hostPath(t *testing.T, n *Node, path string) string {
	t.Helper()
	p, err := n.HostPath(path)
	must(t, err)
	return p
}

func TestOpenFileCodes(t *testing.T) {
	n := newNode(t, nil)
	mkdir(t, n, `C:\d\sub`)
	must(t, os.WriteFile(hostPath(t, n, `C:\d\file`), []byte("12345"), 0o600))
	const dir, reparse = win32.FILE_DIRECTORY_FILE, win32.FILE_OPEN_REPARSE_POINT
	for _, c := range []struct {
		name        string
		path        string
		disposition uint32
		options     uint32
		want        win32.Errno
	}{
		{"directory", `\\?\C:\d`, win32.FILE_OPEN, dir, 0},
		{"drive root", `\\?\C:\`, win32.FILE_OPEN, dir, 0},
		{"lower-case drive and other case", `\\?\c:\D\SUB\`, win32.FILE_OPEN, 0, 0},
		{"missing leaf", `\\?\C:\d\none`, win32.FILE_OPEN, 0, win32.ERROR_FILE_NOT_FOUND},
		{"missing parent", `\\?\C:\none\x`, win32.FILE_OPEN, 0, win32.ERROR_PATH_NOT_FOUND},
		{"below a file", `\\?\C:\d\file\x`, win32.FILE_OPEN, 0, win32.ERROR_PATH_NOT_FOUND},
		{"unknown drive", `\\?\Q:\x`, win32.FILE_OPEN, 0, win32.ERROR_PATH_NOT_FOUND},
		{"unknown volume", `\\?\Volume{11111111-2222-3333-4444-555555555555}\x`, win32.FILE_OPEN, 0,
			win32.ERROR_PATH_NOT_FOUND},
		{"file as directory", `\\?\C:\d\file`, win32.FILE_OPEN, dir, win32.ERROR_DIRECTORY},
		{"file with a separator behind", `\\?\C:\d\file\`, win32.FILE_OPEN, 0, win32.ERROR_INVALID_NAME},
		{"create what exists", `\\?\C:\D`, win32.FILE_CREATE, dir, win32.ERROR_ALREADY_EXISTS},
		{"create below nothing", `\\?\C:\none\x`, win32.FILE_CREATE, dir, win32.ERROR_PATH_NOT_FOUND},
		{"make a file", `\\?\C:\d\new`, win32.FILE_OPEN_IF, 0, win32.ERROR_NOT_SUPPORTED},
		{"wildcard", `\\?\C:\d\*`, win32.FILE_OPEN, 0, win32.ERROR_INVALID_NAME},
		{"stream", `\\?\C:\d\file:s`, win32.FILE_OPEN, 0, win32.ERROR_INVALID_NAME},
		{"slash", `\\?\C:\d/sub`, win32.FILE_OPEN, 0, win32.ERROR_INVALID_NAME},
		{"dots are names", `\\?\C:\d\..`, win32.FILE_OPEN, 0, win32.ERROR_INVALID_NAME},
		{"empty name", `\\?\C:\d\\sub`, win32.FILE_OPEN, 0, win32.ERROR_INVALID_NAME},
		{"not verbatim", `C:\d`, win32.FILE_OPEN, 0, win32.ERROR_INVALID_NAME},
		{"share of a server", `\\?\UNC\s\share\x`, win32.FILE_OPEN, 0, win32.ERROR_BAD_NETPATH},
		{"reserved name", `\\?\C:\d\.CSI-proxy-reparse`, win32.FILE_OPEN, reparse, win32.ERROR_FILE_NOT_FOUND},
		{"make a reserved name", `\\?\C:\d\.csi-proxy-reparse`, win32.FILE_CREATE, dir, win32.ERROR_ACCESS_DENIED},
	} {
		h, err := n.OpenFile(nil, c.path, how(win32.FILE_READ_ATTRIBUTES, c.disposition, c.options))
		wantCode(t, c.name, err, c.want)
		if err == nil {
			must(t, h.Close())
		}
	}
}

func TestOpenOneComponent(t *testing.T) {
	n := newNode(t, nil)
	mkdir(t, n, `C:\d\Sub`)
	link(t, n, `C:\d\link`, reparse.Symlink(`C:\Windows`))
	d := openFile(t, n, `\\?\C:\d`, how(anyRight, win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
	open := func(name string, disposition, options uint32) (kernel.Handle, error) {
		h, err := n.OpenFile(d, name, how(anyRight, disposition, options))
		if err == nil {
			t.Cleanup(func() { _ = h.Close() })
		}
		return h, err
	}
	for _, name := range []string{"", ".", "..", `Sub\x`, `\Windows`, `C:`, `a/b`} {
		_, err := open(name, win32.FILE_OPEN, 0)
		wantCode(t, name, err, win32.ERROR_INVALID_NAME)
	}
	sub, err := open("SUB", win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE)
	must(t, err)
	for form, want := range map[uint32]string{
		win32.VOLUME_NAME_DOS:  `\\?\C:\d\Sub`,
		win32.VOLUME_NAME_GUID: n.disks.volumes()[1].name() + `d\Sub`,
	} {
		if got, err := sub.FinalPath(form); err != nil || got != want {
			t.Errorf("final path: got %s, %v, want %s", got, err, want)
		}
	}
	followed, err := open("Link", win32.FILE_OPEN, 0)
	must(t, err)
	if got, _ := followed.FinalPath(win32.VOLUME_NAME_DOS); got != `\\?\C:\Windows` {
		t.Errorf("link leads to %s", got)
	}
	itself, err := open("link", win32.FILE_OPEN, win32.FILE_OPEN_REPARSE_POINT)
	must(t, err)
	want := win32.FileAttributeTag{Attributes: win32.FILE_ATTRIBUTE_DIRECTORY | win32.FILE_ATTRIBUTE_REPARSE_POINT,
		ReparseTag: win32.IO_REPARSE_TAG_SYMLINK}
	if diff := cmp.Diff(want, attributes(t, itself)); diff != "" {
		t.Errorf("link (-want +got):\n%s", diff)
	}
	must(t, os.WriteFile(hostPath(t, n, `C:\d\new.txt`), nil, 0o600))
	made, err := open("new.txt", win32.FILE_OPEN, 0)
	must(t, err)
	if a := attributes(t, made); a.Attributes != win32.FILE_ATTRIBUTE_NORMAL {
		t.Errorf("file: attributes %#x", a.Attributes)
	}
	if diff := cmp.Diff([]string{".", "..", "link", "new.txt", "Sub"}, list(t, d)); diff != "" {
		t.Errorf("directory (-want +got):\n%s", diff)
	}
}

func TestSharing(t *testing.T) {
	n := newNode(t, nil)
	const read, del = win32.FILE_LIST_DIRECTORY, win32.DELETE
	for _, c := range []struct {
		name          string
		access, share uint32 // of the first opening
		then, sharing uint32
		want          win32.Errno
	}{
		{"delete under a handle that does not share deletion", read, 3, del, 7, win32.ERROR_SHARING_VIOLATION},
		{"delete under a handle that shares deletion", read, 7, del, 7, 0},
		{"unshared open under a deleting handle", del, 7, read, 3, win32.ERROR_SHARING_VIOLATION},
		{"attributes never conflict", win32.FILE_READ_ATTRIBUTES, 0, del, 0, 0},
		{"delete under attributes", read, 0, win32.FILE_READ_ATTRIBUTES, 0, 0},
		{"two readers", read, 1, read, 1, 0},
		{"an exclusive reader", read, 0, read, 1, win32.ERROR_SHARING_VIOLATION},
	} {
		path := mkdir(t, n, `C:\shared`)
		first, err := n.OpenFile(nil, path,
			kernel.OpenOptions{Access: c.access, Share: c.share, Disposition: win32.FILE_OPEN})
		must(t, err)
		second, err := n.OpenFile(nil, path,
			kernel.OpenOptions{Access: c.then, Share: c.sharing, Disposition: win32.FILE_OPEN})
		wantCode(t, c.name, err, c.want)
		must(t, first.Close())
		if err == nil {
			must(t, second.Close())
		}
		again := openFile(t, n, path, kernel.OpenOptions{Access: del, Disposition: win32.FILE_OPEN})
		must(t, again.Close())
	}
}

func TestDeletion(t *testing.T) {
	n := newNode(t, nil)
	mkdir(t, n, `C:\d\sub`)
	d := openFile(t, n, `\\?\C:\d`, how(anyRight, win32.FILE_OPEN, 0))
	wantCode(t, "directory with something in it", erase(d), win32.ERROR_DIR_NOT_EMPTY)
	weak := openFile(t, n, `\\?\C:\d\sub`, how(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, 0))
	wantCode(t, "without the right", erase(weak), win32.ERROR_ACCESS_DENIED)
	sub := openFile(t, n, `\\?\C:\d\sub`, how(win32.DELETE, win32.FILE_OPEN, 0))
	must(t, erase(sub))
	_, err := n.OpenFile(nil, `\\?\C:\d\sub`, how(0, win32.FILE_OPEN, 0))
	wantCode(t, "deleted", err, win32.ERROR_FILE_NOT_FOUND)
	mkdir(t, n, `C:\d\sub`)
	wantCode(t, "delete what took its place", erase(sub), win32.ERROR_ACCESS_DENIED)
	root := openFile(t, n, `\\?\C:\`, how(anyRight, win32.FILE_OPEN, 0))
	wantCode(t, "root", erase(root), win32.ERROR_ACCESS_DENIED)
}

func TestDeletionAtClose(t *testing.T) {
	n := newNode(t, nil)
	mkdir(t, n, `C:\d\sub`)
	const file = `\\?\C:\d\f`
	must(t, os.WriteFile(hostPath(t, n, `C:\d\f`), nil, 0o400))
	erase := func(h kernel.Handle, remove bool) error {
		return h.SetInformation(win32.FileDispositionInfo, win32.FileDisposition(remove))
	}
	attribute := func(h kernel.Handle, bits uint32) error {
		return h.SetInformation(win32.FileBasicInfo, win32.FileBasic{Attributes: bits}.Bytes())
	}
	d := openFile(t, n, `\\?\C:\d`, how(anyRight, win32.FILE_OPEN, 0))
	wantCode(t, "directory with something in it", erase(d, true), win32.ERROR_DIR_NOT_EMPTY)
	first := openFile(t, n, file, how(win32.DELETE|win32.FILE_WRITE_ATTRIBUTES, win32.FILE_OPEN, 0))
	second := openFile(t, n, file, how(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, 0))
	wantCode(t, "without the right", erase(second, true), win32.ERROR_ACCESS_DENIED)
	wantCode(t, "attributes without the right", attribute(second, win32.FILE_ATTRIBUTE_NORMAL), win32.ERROR_ACCESS_DENIED)
	must(t, attribute(first, 0))
	wantCode(t, "read-only", erase(first, true), win32.ERROR_ACCESS_DENIED)
	must(t, attribute(first, win32.FILE_ATTRIBUTE_NORMAL))
	must(t, erase(first, true))
	must(t, erase(first, false))
	again := openFile(t, n, file, how(0, win32.FILE_OPEN, 0))
	must(t, again.Close())
	must(t, erase(first, true))
	must(t, first.Close())
	_, err := n.OpenFile(nil, file, how(0, win32.FILE_OPEN, 0))
	wantCode(t, "open while another handle is open", err, win32.ERROR_DELETE_PENDING)
	must(t, second.Close())
	_, err = n.OpenFile(nil, file, how(0, win32.FILE_OPEN, 0))
	wantCode(t, "open after the last close", err, win32.ERROR_FILE_NOT_FOUND)
	root := openFile(t, n, `\\?\C:\`, how(anyRight, win32.FILE_OPEN, 0))
	wantCode(t, "root", erase(root, true), win32.ERROR_ACCESS_DENIED)
	wantCode(t, "short disposition", d.SetInformation(win32.FileDispositionInfo, nil), win32.ERROR_BAD_LENGTH)
	wantCode(t, "short attributes", d.SetInformation(win32.FileBasicInfo, nil), win32.ERROR_BAD_LENGTH)
}

func TestFileInformation(t *testing.T) {
	n := newNode(t, nil)
	mkdir(t, n, `C:\d`)
	must(t, os.WriteFile(hostPath(t, n, `C:\d\f`), make([]byte, 5000), 0o600))
	f := openFile(t, n, `\\?\C:\d\f`, how(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, 0))
	out := make([]byte, 24)
	must(t, f.Information(win32.FileStandardInfo, out))
	if directory, err := win32.ParseFileStandard(out); err != nil || directory {
		t.Errorf("a directory: %v, %v", directory, err)
	}
	wantCode(t, "small buffer", f.Information(win32.FileStandardInfo, out[:10]), win32.ERROR_BAD_LENGTH)
	wantCode(t, "unknown class", f.Information(99, out), win32.ERROR_INVALID_PARAMETER)
	wantCode(t, "list a file", f.Information(win32.FileFullDirectoryInfo, out), win32.ERROR_INVALID_PARAMETER)
	d := openFile(t, n, `\\?\C:\d`, how(win32.FILE_LIST_DIRECTORY, win32.FILE_OPEN, 0))
	wantCode(t, "no room for an entry", d.Information(win32.FileFullDirectoryInfo, out), win32.ERROR_BAD_LENGTH)
	wantCode(t, "no room for a name", d.Information(win32.FileFullDirectoryInfo, make([]byte, 69)), win32.ERROR_MORE_DATA)
	must(t, d.Information(win32.FileStandardInfo, out))
	if directory, err := win32.ParseFileStandard(out); err != nil || !directory {
		t.Errorf("no directory: %v, %v", directory, err)
	}
	_, err := d.DeviceIoControl(win32.FSCTL_GET_REPARSE_POINT, nil, make([]byte, 100))
	wantCode(t, "not a reparse point", err, win32.ERROR_NOT_A_REPARSE_POINT)
}
