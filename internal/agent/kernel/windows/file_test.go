// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

const shareAll = win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE | win32.FILE_SHARE_DELETE

func openDirectory() kernel.OpenOptions {
	return kernel.OpenOptions{
		Access: win32.FILE_LIST_DIRECTORY | win32.FILE_TRAVERSE | win32.FILE_READ_ATTRIBUTES | win32.FILE_ADD_FILE |
			win32.FILE_ADD_SUBDIRECTORY,
		Share: shareAll, Disposition: win32.FILE_OPEN, Options: win32.FILE_DIRECTORY_FILE | win32.FILE_OPEN_REPARSE_POINT,
	}
}

func createDirectory() kernel.OpenOptions {
	return with(openDirectory(), func(how *kernel.OpenOptions) { how.Disposition = win32.FILE_CREATE })
}

func lookAt() kernel.OpenOptions {
	return kernel.OpenOptions{
		Access: win32.FILE_READ_ATTRIBUTES,
		Share:  shareAll, Disposition: win32.FILE_OPEN, Options: win32.FILE_OPEN_REPARSE_POINT,
	}
}

func remove() kernel.OpenOptions {
	return kernel.OpenOptions{
		Access: win32.DELETE,
		Share:  shareAll, Disposition: win32.FILE_OPEN, Options: win32.FILE_OPEN_REPARSE_POINT,
	}
}

// with returns a changed copy of how.
func with(how kernel.OpenOptions, change func(*kernel.OpenOptions)) kernel.OpenOptions {
	change(&how)
	return how
}

func open(t *testing.T, dir kernel.Handle, name string, how kernel.OpenOptions) kernel.Handle {
	t.Helper()
	h, err := Kernel{}.OpenFile(dir, name, how)
	must(t, err)
	t.Cleanup(func() { _ = h.Close() }) // unless the test has done so
	return h
}

// tree makes a directory with Sub\file.txt and opens it.
func tree(t *testing.T) kernel.Handle {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "Sub"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "Sub", "file.txt"), []byte("0123456789"), 0o600))
	return open(t, nil, `\\?\`+dir, openDirectory())
}

func finalPath(t *testing.T, h kernel.Handle, volumeName uint32) string {
	t.Helper()
	path, err := h.FinalPath(volumeName)
	must(t, err)
	return path
}

func TestOpenRelative(t *testing.T) {
	root := tree(t)
	sub := open(t, root, "SUB", openDirectory())
	file := open(t, sub, "file.txt", lookAt())

	base := finalPath(t, root, win32.VOLUME_NAME_DOS)
	if !strings.HasPrefix(base, `\\?\C:\`) {
		t.Errorf("got %q, want a path on C:", base)
	}
	if got, want := finalPath(t, file, win32.VOLUME_NAME_DOS), base+`\Sub\file.txt`; got != want {
		t.Errorf("got %q, want %q: names as they are stored", got, want)
	}
	volume, err := Kernel{}.VolumeNameForMountPoint(`C:\`)
	must(t, err)
	_, rest, _ := strings.Cut(base, `C:\`)
	if got, want := finalPath(t, sub, win32.VOLUME_NAME_GUID), volume+rest+`\Sub`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Without links on the way, a path is opened at once, by the root of its drive.
func TestOpenWithoutLinks(t *testing.T) {
	base := finalPath(t, tree(t), win32.VOLUME_NAME_DOS)
	how := with(lookAt(), func(how *kernel.OpenOptions) { how.DontReparse = true })
	for range 2 { // the first call opens the root of the drive
		for path, want := range map[string]win32.Errno{
			base: 0, base + `\SUB`: 0, strings.Replace(base, "C:", "c:", 1) + `\sub\file.txt`: 0, `\\?\C:\`: 0, `\\?\Z:\work`: 0,
			base + `\none`: win32.ERROR_FILE_NOT_FOUND, base + `\none\below`: win32.ERROR_PATH_NOT_FOUND,
			base + `\Sub\file.txt\below`: win32.ERROR_PATH_NOT_FOUND, `\\?\Q:\none`: win32.ERROR_PATH_NOT_FOUND,
			base[len(win32Prefix):]: win32.ERROR_INVALID_NAME, `\\?\UNC\server\share`: win32.ERROR_INVALID_NAME,
			`\\?\C:`: win32.ERROR_INVALID_NAME, base + "\x00": win32.ERROR_INVALID_NAME,
		} {
			h, err := Kernel{}.OpenFile(nil, path, how)
			if (err != nil) != (want != 0) || err != nil && code(err) != want {
				t.Errorf("%q: got %v, want %v", path, err, want)
			}
			if err != nil {
				continue
			}
			if stored, err := h.FinalPath(win32.VOLUME_NAME_DOS); !strings.EqualFold(stored, path) || err != nil {
				t.Errorf("%q is %q, %v", path, stored, err)
			}
			must(t, h.Close())
		}
	}
}

// What is there is found in one call. Wine looks for the rest of the path below the directory in which a process began.
func TestQueryAttributes(t *testing.T) {
	const variable = "CSI_PROXY_TEST_AT_ROOT"
	if os.Getenv(variable) == "" {
		program, err := os.Executable()
		must(t, err)
		again := exec.Command(program, "-test.run=^TestQueryAttributes$")
		again.Dir, again.Env = `C:\`, append(os.Environ(), variable+"=1")
		if output, err := again.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
		return
	}
	base := finalPath(t, tree(t), win32.VOLUME_NAME_DOS)
	for range 2 { // the first call opens the root of the drive
		for path, want := range map[string]win32.Errno{
			base: 0, base + `\SUB`: 0, strings.Replace(base, "C:", "c:", 1) + `\sub\file.txt`: 0,
			base + `\none`: win32.ERROR_FILE_NOT_FOUND, base + `\none\below`: win32.ERROR_PATH_NOT_FOUND,
			base + `\Sub\file.txt\below`: win32.ERROR_PATH_NOT_FOUND, `\\?\Q:\none`: win32.ERROR_PATH_NOT_FOUND,
			base[len(win32Prefix):]: win32.ERROR_INVALID_NAME, `\\?\UNC\server\share`: win32.ERROR_INVALID_NAME,
			`\\?\C:`: win32.ERROR_INVALID_NAME, base + "\x00": win32.ERROR_INVALID_NAME,
		} {
			if err := (Kernel{}).QueryAttributes(path); (err != nil) != (want != 0) || err != nil && code(err) != want {
				t.Errorf("%q: got %v, want %v", path, err, want)
			}
		}
	}
}

// The path with the volume's name is longer than the first buffer; the one with the drive letter is not.
func TestFinalPathGrows(t *testing.T) {
	root := tree(t)
	base := finalPath(t, root, win32.VOLUME_NAME_DOS)
	name := strings.Repeat("n", 255-len(base))
	h := open(t, root, name, createDirectory())
	volume, err := Kernel{}.VolumeNameForMountPoint(`C:\`)
	must(t, err)
	want := volume + strings.TrimPrefix(base, `\\?\C:\`) + `\` + name
	if len(want) <= 260 {
		t.Fatalf("%q is too short for this test", want)
	}
	if got := finalPath(t, h, win32.VOLUME_NAME_GUID); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOpenFailures(t *testing.T) {
	root := tree(t)
	sub := open(t, root, "Sub", openDirectory())
	base := finalPath(t, root, win32.VOLUME_NAME_DOS)
	directory := with(lookAt(), func(how *kernel.OpenOptions) { how.Options = win32.FILE_DIRECTORY_FILE })
	file := with(lookAt(), func(how *kernel.OpenOptions) { how.Options = win32.FILE_NON_DIRECTORY_FILE })
	create := with(directory, func(how *kernel.OpenOptions) { how.Disposition = win32.FILE_CREATE })
	for _, test := range []struct {
		name string
		dir  kernel.Handle
		path string
		how  kernel.OpenOptions
		want win32.Errno
	}{
		{"missing", root, "missing", lookAt(), win32.ERROR_FILE_NOT_FOUND},
		{"missing parent", nil, base + `\missing\name`, lookAt(), win32.ERROR_PATH_NOT_FOUND},
		{"trailing blank", root, "Sub ", lookAt(), win32.ERROR_FILE_NOT_FOUND},
		{"trailing dot", root, "Sub.", lookAt(), win32.ERROR_FILE_NOT_FOUND},
		{"reserved name is none here", root, "CON", lookAt(), win32.ERROR_FILE_NOT_FOUND},
		{"itself", root, ".", lookAt(), win32.ERROR_INVALID_NAME},
		{"parent", sub, "..", lookAt(), win32.ERROR_INVALID_NAME},
		{"parent in a path", nil, base + `\Sub\..\Sub`, lookAt(), win32.ERROR_INVALID_NAME},
		{"wildcard", root, "S*", lookAt(), win32.ERROR_INVALID_NAME},
		{"empty", root, "", lookAt(), win32.ERROR_INVALID_NAME},
		{"two components", root, `Sub\file.txt`, lookAt(), win32.ERROR_INVALID_NAME},
		{"slash", root, `Sub/file.txt`, lookAt(), win32.ERROR_INVALID_NAME},
		{"stream", sub, `file.txt:stream`, lookAt(), win32.ERROR_INVALID_NAME},
		{"NUL", sub, "file.txt\x00", lookAt(), win32.ERROR_INVALID_NAME},
		{"not verbatim", nil, `C:\`, lookAt(), win32.ERROR_INVALID_NAME},
		{"file as a directory", sub, "file.txt", directory, win32.ERROR_DIRECTORY},
		{"directory as a file", root, "Sub", file, win32.ERROR_ACCESS_DENIED},
		{"there already", root, "sub", create, win32.ERROR_ALREADY_EXISTS},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, err := Kernel{}.OpenFile(test.dir, test.path, test.how)
			if err == nil {
				_ = h.Close()
			}
			check(t, err, test.want)
		})
	}
}

func TestForeignHandle(t *testing.T) {
	intercepted := kernel.Handle(struct{ kernel.Handle }{tree(t)})
	_, err := Kernel{}.OpenFile(intercepted, "Sub", lookAt())
	check(t, err, win32.ERROR_INVALID_HANDLE)
}

func TestSharingViolation(t *testing.T) {
	sub := open(t, tree(t), "Sub", openDirectory())
	// the bit is FILE_READ_DATA
	read := kernel.OpenOptions{Access: win32.FILE_LIST_DIRECTORY, Disposition: win32.FILE_OPEN}
	open(t, sub, "file.txt", read)
	_, err := Kernel{}.OpenFile(sub, "file.txt", read)
	check(t, err, win32.ERROR_SHARING_VIOLATION)
}

func TestReadAt(t *testing.T) {
	sub := open(t, tree(t), "Sub", openDirectory())
	h := open(t, sub, "file.txt", kernel.OpenOptions{Access: win32.FILE_LIST_DIRECTORY, Share: shareAll,
		Disposition: win32.FILE_OPEN})
	for _, test := range []struct {
		name   string
		offset int64
		length int
		want   string
		err    error
	}{
		{"inside", 2, 3, "234", nil},
		{"to the end", 6, 4, "6789", nil},
		{"over the end", 8, 4, "89", io.EOF},
		{"beyond the end", 1 << 33, 4, "", io.EOF},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := make([]byte, test.length)
			n, err := h.ReadAt(p, test.offset)
			if got := string(p[:n]); got != test.want || err != test.err { //nolint:errorlint // io.EOF is never wrapped
				t.Errorf("got %q, %v; want %q, %v", got, err, test.want, test.err)
			}
		})
	}
}

func TestListDirectory(t *testing.T) {
	root := tree(t)
	var want []string
	for i := range 40 {
		name := strings.Repeat("n", 100+i)
		open(t, root, name, createDirectory())
		want = append(want, name)
	}
	want = append(want, "Sub")
	slices.Sort(want)

	for _, class := range []uint32{win32.FileFullDirectoryInfo, win32.FileFullDirectoryRestartInfo} {
		// Not all entries fit, so several calls are needed.
		var got []string
		for out := make([]byte, 2048); ; class = win32.FileFullDirectoryInfo {
			err := root.Information(class, out)
			if err != nil {
				check(t, err, win32.ERROR_NO_MORE_FILES)
				break
			}
			entries, err := win32.ParseDirectoryEntries(out)
			must(t, err)
			for _, entry := range entries {
				if entry.Attributes&win32.FILE_ATTRIBUTE_DIRECTORY == 0 {
					t.Errorf("%s is not a directory", entry.Name)
				}
				if entry.Name != "." && entry.Name != ".." {
					got = append(got, entry.Name)
				}
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("-got +want:\n%s", diff)
		}
	}
}

func TestInformation(t *testing.T) {
	sub := open(t, tree(t), "Sub", openDirectory())
	h := open(t, sub, "file.txt", lookAt())

	out := make([]byte, win32.SizeofFileStandard)
	for of, want := range map[kernel.Handle]bool{h: false, sub: true} {
		must(t, of.Information(win32.FileStandardInfo, out))
		if directory, err := win32.ParseFileStandard(out); err != nil || directory != want {
			t.Errorf("a directory: %v, %v, want %v", directory, err, want)
		}
	}

	out = make([]byte, win32.SizeofFileBasic)
	must(t, sub.Information(win32.FileBasicInfo, out))
	basic, err := win32.ParseFileBasic(out)
	must(t, err)
	if basic.Attributes&^windows.FILE_ATTRIBUTE_NOT_CONTENT_INDEXED != win32.FILE_ATTRIBUTE_DIRECTORY {
		t.Errorf("a directory has the attributes %#x", basic.Attributes)
	}

	out = make([]byte, 8)
	must(t, sub.Information(win32.FileAttributeTagInfo, out))
	tag, err := win32.ParseFileAttributeTag(out)
	must(t, err)
	tag.Attributes &^= windows.FILE_ATTRIBUTE_NOT_CONTENT_INDEXED // inherited on some machines
	if diff := cmp.Diff(tag, win32.FileAttributeTag{Attributes: win32.FILE_ATTRIBUTE_DIRECTORY}); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}

	_, err = h.DeviceIoControl(win32.FSCTL_GET_REPARSE_POINT, nil, make([]byte, win32.MAXIMUM_REPARSE_DATA_BUFFER_SIZE))
	check(t, err, win32.ERROR_NOT_A_REPARSE_POINT)
}

func TestDelete(t *testing.T) {
	root := tree(t)
	sub := open(t, root, "Sub", openDirectory())
	disposition := win32.FileDispositionEx(
		win32.FILE_DISPOSITION_FLAG_DELETE | win32.FILE_DISPOSITION_FLAG_POSIX_SEMANTICS |
			win32.FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE)

	h := open(t, root, "Sub", remove())
	check(t, h.SetInformation(win32.FileDispositionInfoEx, disposition), win32.ERROR_DIR_NOT_EMPTY)
	must(t, h.Close())

	h = open(t, sub, "file.txt", lookAt())
	check(t, h.SetInformation(win32.FileDispositionInfoEx, disposition), win32.ERROR_ACCESS_DENIED)
	must(t, h.Close())

	h = open(t, sub, "file.txt", remove())
	must(t, h.SetInformation(win32.FileDispositionInfoEx, disposition))
	must(t, h.Close())
	_, err := Kernel{}.OpenFile(sub, "file.txt", lookAt())
	check(t, err, win32.ERROR_FILE_NOT_FOUND)

	must(t, sub.Close())
	h = open(t, root, "Sub", remove())
	must(t, h.SetInformation(win32.FileDispositionInfoEx, disposition))
	must(t, h.Close())
	_, err = Kernel{}.OpenFile(root, "Sub", lookAt())
	check(t, err, win32.ERROR_FILE_NOT_FOUND)
}

// A handle without SYNCHRONIZE tells what it is open on, and deletes it.
func TestDeleteWithoutFurtherRights(t *testing.T) {
	root := tree(t)
	alone := with(remove(), func(how *kernel.OpenOptions) { how.Asynchronous = true })
	directory := func(h kernel.Handle) bool {
		t.Helper()
		out := make([]byte, win32.SizeofFileStandard)
		must(t, h.Information(win32.FileStandardInfo, out))
		is, err := win32.ParseFileStandard(out)
		must(t, err)
		_, err = h.DeviceIoControl(win32.FSCTL_GET_REPARSE_POINT, nil, make([]byte, win32.MAXIMUM_REPARSE_DATA_BUFFER_SIZE))
		check(t, err, win32.ERROR_NOT_A_REPARSE_POINT)
		return is
	}
	h := open(t, root, "Sub", alone)
	if !directory(h) || !strings.HasSuffix(finalPath(t, h, win32.VOLUME_NAME_DOS), `\Sub`) {
		t.Error("a directory is not told as such")
	}
	must(t, h.Close())
	h = open(t, open(t, root, "Sub", openDirectory()), "file.txt", alone)
	if directory(h) {
		t.Error("a file is taken for a directory")
	}
	must(t, h.SetInformation(win32.FileDispositionInfoEx, win32.FileDispositionEx(
		win32.FILE_DISPOSITION_FLAG_DELETE|win32.FILE_DISPOSITION_FLAG_POSIX_SEMANTICS|
			win32.FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE)))
	must(t, h.Close())
	_, err := Kernel{}.OpenFile(open(t, root, "Sub", openDirectory()), "file.txt", lookAt())
	check(t, err, win32.ERROR_FILE_NOT_FOUND)
}

// Without POSIX semantics: the file goes when the handle is closed, and not while it is read-only.
func TestDeleteAtClose(t *testing.T) {
	root := tree(t)
	deleted := win32.FileDisposition(true)
	change := with(remove(), func(
		how *kernel.OpenOptions) {
		how.Access |= win32.FILE_WRITE_ATTRIBUTES | win32.FILE_READ_ATTRIBUTES
	})

	h := open(t, root, "Sub", change)
	check(t, h.SetInformation(win32.FileDispositionInfo, deleted), win32.ERROR_DIR_NOT_EMPTY)
	must(t, h.Close())

	sub := open(t, root, "Sub", openDirectory())
	h = open(t, sub, "file.txt", change)
	must(t, h.SetInformation(win32.FileBasicInfo, win32.FileBasic{Attributes: win32.FILE_ATTRIBUTE_READONLY}.Bytes()))
	check(t, h.SetInformation(win32.FileDispositionInfo, deleted), win32.ERROR_ACCESS_DENIED)
	must(t, h.SetInformation(win32.FileBasicInfo, win32.FileBasic{Attributes: win32.FILE_ATTRIBUTE_NORMAL}.Bytes()))
	must(t, h.SetInformation(win32.FileDispositionInfo, deleted))
	must(t, h.Close())
	_, err := Kernel{}.OpenFile(sub, "file.txt", lookAt())
	check(t, err, win32.ERROR_FILE_NOT_FOUND)
}

// A directory moves into another one, which is named by its handle.
func TestRename(t *testing.T) {
	root := tree(t)
	must(t, open(t, open(t, root, "Sub", openDirectory()), "deep", createDirectory()).Close())
	sub := open(t, root, "Sub", openDirectory())
	deep := open(t, sub, "deep", remove())
	check(t, deep.Rename(root, "sub"), win32.ERROR_ALREADY_EXISTS)
	check(t, deep.Rename(root, `a\b`), win32.ERROR_INVALID_NAME)
	check(t, deep.Rename(kernel.Handle(struct{ kernel.Handle }{root}), "up"), win32.ERROR_INVALID_HANDLE)
	must(t, deep.Rename(root, "up"))
	must(t, deep.Close())
	_, err := Kernel{}.OpenFile(sub, "deep", lookAt())
	check(t, err, win32.ERROR_FILE_NOT_FOUND)
	must(t, open(t, root, "up", openDirectory()).Close())
	must(t, root.Close())
	check(t, open(t, sub, "file.txt", remove()).Rename(root, "file.txt"), win32.ERROR_INVALID_HANDLE)
}

func TestSystemWindowsDirectory(t *testing.T) {
	dir, err := Kernel{}.SystemWindowsDirectory()
	must(t, err)
	if !strings.EqualFold(dir, `C:\Windows`) {
		t.Errorf("got %q", dir)
	}
}
