// SPDX-License-Identifier: Apache-2.0

//go:build unix

package emulated

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
)

// A handle stays on its directory when the host moves it and a link takes its place.
func TestDirectoryHandleIsNotRedirected(t *testing.T) {
	n := newNode(t, nil)
	mkdir(t, n, `C:\d\in`)
	d := openFile(t, n, `\\?\C:\d`, how(anyRight, win32.FILE_OPEN, 0))
	host := hostPath(t, n, `C:\d`)
	must(t, os.Rename(host, host+"-moved"))
	outside := t.TempDir()
	must(t, os.Mkdir(filepath.Join(outside, "in"), 0o700))
	must(t, os.Symlink(outside, host))

	h, err := n.OpenFile(d, "made", how(anyRight, win32.FILE_CREATE, win32.FILE_DIRECTORY_FILE))
	must(t, err)
	must(t, h.Close())
	if _, err := os.Stat(filepath.Join(host+"-moved", "made")); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("outside: %v", entries)
	}
	_, err = n.OpenFile(nil, `\\?\C:\d\in`, how(anyRight, win32.FILE_OPEN, 0))
	wantCode(t, "through the planted link", err, win32.ERROR_CANT_ACCESS_FILE)
	err = erase(d)
	wantCode(t, "delete what was moved away", err, win32.ERROR_FILE_NOT_FOUND)
}

func TestPlantedHostFiles(t *testing.T) {
	n := newNode(t, nil)
	mkdir(t, n, `C:\d`)
	host := hostPath(t, n, `C:\d`)
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("x"), 0o600))
	must(t, os.Symlink(outside, filepath.Join(host, "out")))
	must(t, os.Symlink("../Windows", filepath.Join(host, "inside")))
	must(t, os.Mkdir(filepath.Join(host, "forged"), 0o700))
	must(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(host, "forged", hostfiles.ReservedPrefix)))
	must(t, os.WriteFile(filepath.Join(host, "a:b"), nil, 0o400)) // a name that Windows cannot have is not seen
	t.Chdir(host)                                                 // the path of a socket is short
	socket, err := net.Listen("unix", "s")
	must(t, err)
	defer socket.Close()

	for name, want := range map[string]win32.FileAttributeTag{
		"out":    {Attributes: win32.FILE_ATTRIBUTE_REPARSE_POINT, ReparseTag: deviceside.IO_REPARSE_TAG_LX_SYMLINK},
		"inside": {Attributes: win32.FILE_ATTRIBUTE_REPARSE_POINT, ReparseTag: deviceside.IO_REPARSE_TAG_LX_SYMLINK},
		"forged": {Attributes: win32.FILE_ATTRIBUTE_REPARSE_POINT | win32.FILE_ATTRIBUTE_DIRECTORY,
			ReparseTag: deviceside.IO_REPARSE_TAG_LX_SYMLINK},
		"S": {Attributes: win32.FILE_ATTRIBUTE_REPARSE_POINT, ReparseTag: hostfiles.TagSocket},
	} {
		h := openFile(t, n, `\\?\C:\d\`+name, how(anyRight, win32.FILE_OPEN, win32.FILE_OPEN_REPARSE_POINT))
		if diff := cmp.Diff(want, attributes(t, h)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		must(t, h.Close())
		_, err := n.OpenFile(nil, `\\?\C:\d\`+name, how(anyRight, win32.FILE_OPEN, 0))
		wantCode(t, "follow "+name, err, win32.ERROR_CANT_ACCESS_FILE)
		_, err = n.OpenFile(nil, `\\?\C:\d\`+name+`\secret`, how(anyRight, win32.FILE_OPEN, 0))
		wantCode(t, "below "+name, err, win32.ERROR_CANT_ACCESS_FILE)
		_, err = n.HostPath(`C:\d\` + name + `\secret`)
		wantCode(t, "host path below "+name, err, win32.ERROR_CANT_ACCESS_FILE)
	}
	// All of them can be deleted, and their targets stay.
	for _, name := range []string{"out", "inside", "forged"} {
		h := openFile(t, n, `\\?\C:\d\`+name, how(anyRight, win32.FILE_OPEN, win32.FILE_OPEN_REPARSE_POINT))
		must(t, h.SetInformation(win32.FileDispositionInfoEx, win32.FileDispositionEx(0x13)))
	}
	d := openFile(t, n, `\\?\C:\d`, how(anyRight, win32.FILE_OPEN, 0))
	if diff := cmp.Diff([]string{".", "..", "s"}, list(t, d)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(outside, "secret")); err != nil {
		t.Error(err)
	}
}

// A directory that a process of the host fills while it is removed is not empty, as on Windows.
func TestDirectoryFilledWhileItIsRemoved(t *testing.T) {
	var dir string
	n := openNode(t, t.TempDir(), Options{Scenario: smallScenario(), Before: func(change, path string) error {
		if change != "remove" || path != dir {
			return nil
		}
		return os.WriteFile(filepath.Join(dir, "late"), nil, 0o600)
	}})
	mkdir(t, n, `C:\d`)
	dir = hostPath(t, n, `C:\d`)
	wantCode(t, "filled", erase(openFile(t, n, `\\?\C:\d`, how(anyRight, win32.FILE_OPEN, 0))), win32.ERROR_DIR_NOT_EMPTY)
}

// The node does not wait for the other end of a named pipe that takes the place of a file under a handle.
func TestFileThatBecomesAPipe(t *testing.T) {
	var file string
	n := openNode(t, t.TempDir(), Options{Scenario: smallScenario(), Before: func(change, path string) error {
		if change != "chmod" || path != file {
			return nil
		}
		return errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600))
	}})
	mkdir(t, n, `C:\d`)
	file = filepath.Join(hostPath(t, n, `C:\d`), "f")
	must(t, os.WriteFile(file, nil, 0o600))
	h := openFile(t, n, `\\?\C:\d\f`, how(anyRight, win32.FILE_OPEN, 0))
	_ = h.SetInformation(win32.FileBasicInfo, win32.FileBasic{Attributes: win32.FILE_ATTRIBUTE_READONLY}.Bytes())
	mkdir(t, n, `C:\next`)
}

func TestCaseIsFoldedAndKept(t *testing.T) {
	n := newNode(t, nil)
	mkdir(t, n, `C:\D\Straße`)
	mkdir(t, n, `C:\d\straẞe`) // ẞ has no simple upper-case form in common with ß
	host := hostPath(t, n, `C:\D`)
	must(t, os.Mkdir(filepath.Join(host, "b"), 0o700))
	must(t, os.Mkdir(filepath.Join(host, "B"), 0o700))
	for asked, want := range map[string]string{
		`C:\d\STRAßE`: "Straße", `c:/d/straße/.`: "Straße", `\D\b`: "b", `C:\D\B`: "B", `C:\d\Ä`: "Ä",
	} {
		if got := filepath.Base(hostPath(t, n, asked)); got != want {
			t.Errorf("%s: got %s, want %s", asked, got, want)
		}
	}
	d := openFile(t, n, `\\?\c:\d`, how(anyRight, win32.FILE_OPEN, 0))
	if diff := cmp.Diff([]string{".", "..", "B", "b", "Straße", "straẞe"}, list(t, d)); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
}

// A reboot from which the node would not come back is known before anything is closed.
func TestRebootWithoutAnImage(t *testing.T) {
	n := newNode(t, nil)
	path, err := n.DiskImage(1)
	must(t, err)
	must(t, os.Rename(path, path+".away"))
	if _, damaged := errors.AsType[*hostfiles.DamagedError](n.CanReboot()); !damaged {
		t.Error("the node would reboot without the image of a disk")
	}
	must(t, os.Rename(path+".away", path))
	must(t, n.CanReboot())
	must(t, n.Reboot())
}
