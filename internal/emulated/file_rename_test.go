// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_file_rename_information
func TestRename(t *testing.T) {
	n := newNode(t, nil)
	v := formatted(t, n, oneDrive)
	mkdir(t, n, `C:\d\a\b`)
	mkdir(t, n, `C:\d\Taken`)
	link(t, n, `C:\d\link`, reparse.Symlink(`C:\Windows`))
	open := func(path string, access uint32) kernel.Handle {
		return openFile(t, n, `\\?\`+path, how(access, win32.FILE_OPEN, win32.FILE_OPEN_REPARSE_POINT))
	}
	d, other := open(`C:\d`, anyRight), open(v[len(`\\?\`):], anyRight)
	a := open(`C:\d\a`, win32.DELETE)

	b := open(`C:\d\a\b`, win32.FILE_READ_ATTRIBUTES)
	wantCode(t, "something below is open", a.Rename(d, "new"), win32.ERROR_ACCESS_DENIED)
	wantCode(t, "without DELETE", b.Rename(d, "new"), win32.ERROR_ACCESS_DENIED)
	must(t, b.Close())
	wantCode(t, "below itself", a.Rename(a, "new"), win32.ERROR_ACCESS_DENIED)
	wantCode(t, "to a name that is taken", a.Rename(d, "TAKEN"), win32.ERROR_ALREADY_EXISTS)
	wantCode(t, "to a path", a.Rename(d, `x\y`), win32.ERROR_INVALID_NAME)
	wantCode(t, "to a reserved name", a.Rename(d, hostfiles.ReservedPrefix), win32.ERROR_ACCESS_DENIED)
	wantCode(t, "to another volume", a.Rename(other, "new"), win32.ERROR_NOT_SAME_DEVICE)
	wantCode(t, "into a link", a.Rename(open(`C:\d\link`, anyRight), "new"), win32.ERROR_CANT_ACCESS_FILE)
	wantCode(t, "of a root directory", other.Rename(d, "new"), win32.ERROR_NOT_SAME_DEVICE)
	wantCode(t, "of a device", openDevice(t, n, oneDrive, 0).Rename(d, "new"), win32.ERROR_INVALID_PARAMETER)

	b = open(`C:\d\a\b`, win32.DELETE)
	must(t, b.Rename(d, "up"))
	if got, err := b.FinalPath(win32.VOLUME_NAME_DOS); err != nil || got != `\\?\C:\d\up` {
		t.Errorf("the handle is open on %s, %v", got, err)
	}
	must(t, b.Close())
	must(t, a.Rename(d, "new"))
	must(t, open(`C:\d\link`, win32.DELETE).Rename(d, "itself"))
	if diff := cmp.Diff([]string{".", "..", "itself", "new", "Taken", "up"}, list(t, d)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	must(t, erase(a))
	if _, err := os.Stat(hostPath(t, n, `C:\d\new`)); !os.IsNotExist(err) {
		t.Errorf("a handle that was moved deletes something else: %v", err)
	}
}

// A directory is read in parts, and what was listed may be deleted before the rest is.
func TestListingWhileDeleting(t *testing.T) {
	n := newNode(t, nil)
	mkdir(t, n, `C:\d`)
	d := openFile(t, n, `\\?\C:\d`, how(anyRight, win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
	host := hostPath(t, n, `C:\d`)
	const files = 3*hostfiles.NamesAtOnce + 7
	for i := range files {
		must(t, os.WriteFile(filepath.Join(host, fmt.Sprintf("File%05d", i)), nil, 0o600))
	}
	if h, err := n.OpenFile(d, fmt.Sprintf("FILE%05d", files-1), how(0, win32.FILE_OPEN, 0)); err != nil {
		t.Errorf("opening one of many in another case: %v", err)
	} else {
		must(t, h.Close())
	}
	seen := map[string]bool{}
	for _, name := range list(t, d) {
		if seen[name] {
			t.Errorf("%s is listed twice", name)
		}
		seen[name] = true
		if name != "." && name != ".." {
			must(t, os.Remove(filepath.Join(host, name)))
		}
	}
	if len(seen) != files+2 {
		t.Errorf("%d names are listed, want %d", len(seen), files+2)
	}
}
