// SPDX-License-Identifier: Apache-2.0

package hostfiles

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
)

// CheckNotLink fails if a directory is a reparse point, below which nothing can be done.
func CheckNotLink(dir *os.Root) error {
	_, err := dir.Lstat(ReservedPrefix)
	switch {
	case err == nil:
		return win32.ERROR_CANT_ACCESS_FILE
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// OpenRoot opens the directory of all volumes' files, or of all shares of a server. A link in its place is refused:
// what the node removes would be anywhere.
func OpenRoot(path string) (*os.Root, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	problem := Damaged(path, "it is a link, or not a directory", "put the directory itself in its place")
	if !info.IsDir() {
		return nil, problem
	}
	// of a pipe that took its place, this waits for no writer
	dir, err := os.OpenRoot(path + string(os.PathSeparator) + ".")
	if err != nil {
		return nil, err
	}
	if opened, err := dir.Stat("."); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(problem, dir.Close())
	}
	return dir, nil
}

// Entry is one name in a directory of a volume.
type Entry struct {
	Name string // on the host
	Info os.FileInfo
	Tag  uint32 // of a reparse point, or 0
	data []byte // the REPARSE_DATA_BUFFER, if the node made it
}

// TagSocket is IO_REPARSE_TAG_AF_UNIX, by which sockets, pipes and devices of the host are shown: Windows can neither
// follow nor read them.
// https://learn.microsoft.com/openspecs/windows_protocols/ms-fscc/c8e77b37-3909-4fe6-a4ea-2b9d423b1ee4
const TagSocket = 0x80000023

// IsDir is true of a reparse point that the node made, too.
func (e Entry) IsDir() bool { return e.Info.IsDir() }

// Unreadable reports whether the host's mode of a file has no right to read.
func (e Entry) Unreadable() bool { return e.Info.Mode().IsRegular() && e.Info.Mode().Perm()&0o444 == 0 }

// Attributes returns the FILE_ATTRIBUTE_ bits. A link or mount point of the node is a directory; a symbolic link of the
// host is a file with a tag that Win32 does not follow.
func (e Entry) Attributes() (bits uint32) {
	if e.IsDir() {
		bits |= win32.FILE_ATTRIBUTE_DIRECTORY
	} else if e.Info.Mode().IsRegular() && e.Info.Mode().Perm()&0o200 == 0 {
		bits |= win32.FILE_ATTRIBUTE_READONLY
	}
	if e.Tag != 0 {
		bits |= win32.FILE_ATTRIBUTE_REPARSE_POINT
	}
	if bits == 0 {
		bits = win32.FILE_ATTRIBUTE_NORMAL
	}
	return bits
}

// ignoresCase means that the host finds a file by names other than the stored one: in another case, and on Windows
// by a short name, which files of the node do not have. There, only a listing has the stored names.
const ignoresCase = runtime.GOOS == "windows" || runtime.GOOS == "darwin"

// Lookup finds a name in a directory: the exact one, or else, of those that differ in case, the first in byte order. A
// missing name is fs.ErrNotExist. The entry has the stored name.
func Lookup(dir *os.Root, name string) (Entry, error) {
	e, err := Find(dir, name)
	if err != nil {
		return e, err
	}
	return Inspect(dir, e)
}

// Enter is Lookup of a name on the way, and opens it if it is a directory and no reparse point.
func Enter(dir *os.Root, name string) (e Entry, below *os.Root, err error) {
	if e, err = Find(dir, name); err != nil {
		return e, nil, err
	}
	if e.IsDir() {
		if below, err = OpenDir(dir, e); err != nil || CheckNotLink(below) == nil {
			return e, below, err
		}
		_ = below.Close() // a directory handle holds no data
	}
	e, err = Inspect(dir, e)
	return e, nil, err
}

// errFound ends the search of a directory.
var errFound = errors.New("found")

// Find is Lookup, but does not tell a reparse point from a directory.
func Find(dir *os.Root, name string) (e Entry, err error) {
	if IsReserved(name) {
		return e, fs.ErrNotExist
	}
	info, err := dir.Lstat(name)
	if err == nil && !ignoresCase || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Entry{Name: name, Info: info}, err
	}
	upper := Upper(name)
	err = everyName(dir, func(candidate string) error {
		switch {
		case candidate == name:
			e.Name = name
			return errFound
		case !IsReserved(candidate) && Upper(candidate) == upper && (e.Name == "" || candidate < e.Name):
			e.Name = candidate
		}
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, errFound):
		return e, err
	case e.Name == "":
		return e, fs.ErrNotExist
	}
	e.Info, err = dir.Lstat(e.Name)
	return e, err
}

// Inspect completes the entry of a name.
func Inspect(dir *os.Root, e Entry) (Entry, error) {
	switch mode := e.Info.Mode(); {
	case mode.IsDir():
		file := path.Join(e.Name, ReservedPrefix)
		link, err := dir.Lstat(file)
		if errors.Is(err, fs.ErrNotExist) {
			return e, nil
		}
		if err != nil {
			return e, err
		}
		e.data, err = ReadFileIn(dir, file, link, win32.MAXIMUM_REPARSE_DATA_BUFFER_SIZE)
		if errors.Is(err, errNotOurs) || err == nil && len(e.data) < 8 {
			e.data, e.Tag = nil, deviceside.IO_REPARSE_TAG_LX_SYMLINK // it cannot be followed
			return e, nil
		}
		if err == nil {
			e.Tag = binary.LittleEndian.Uint32(e.data)
		}
		return e, err
	case mode&fs.ModeSymlink != 0:
		e.Tag = deviceside.IO_REPARSE_TAG_LX_SYMLINK
	case !mode.IsRegular():
		e.Tag = TagSocket
	}
	return e, nil
}

// OpenDir opens a directory that was looked up. It fails if a link has taken the directory's place meanwhile.
func OpenDir(parent *os.Root, e Entry) (*os.Root, error) {
	dir, err := parent.OpenRoot(e.Name)
	if err != nil {
		return nil, err
	}
	opened, err := dir.Stat(".")
	if err == nil && !os.SameFile(opened, e.Info) {
		err = win32.ERROR_SHARING_VIOLATION
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// CheckEmpty fails unless Windows sees nothing in the directory.
func CheckEmpty(dir *os.Root) error {
	return everyName(dir, func(name string) error {
		if IsReserved(name) {
			return nil
		}
		return win32.ERROR_DIR_NOT_EMPTY
	})
}

// NamesAtOnce is how many names of a directory are read from the host at a time: a workload may put a million there.
const NamesAtOnce = 512

// everyName calls f with the names in a directory of the host, in the host's order, until f fails.
func everyName(dir *os.Root, f func(name string) error) error {
	file, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer file.Close()
	for {
		names, err := file.Readdirnames(NamesAtOnce)
		for _, name := range names {
			if err := f(name); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// OpenContent opens the directory of the files of a volume or share, and makes it if needed.
func (h *Host) OpenContent(path string) (*os.Root, error) {
	volumes, err := OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer volumes.Close()
	name := filepath.Base(path)
	info, err := volumes.Lstat(name)
	if errors.Is(err, os.ErrNotExist) {
		if err = h.MkdirIn(volumes, name); err == nil {
			info, err = volumes.Lstat(name)
		}
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() { // a planted link could lead anywhere
		return nil, win32.ERROR_UNRECOGNIZED_VOLUME
	}
	return OpenDir(volumes, Entry{Name: name, Info: info})
}
