// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"sort"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
)

// entry is one name in a directory of a volume.
type entry struct {
	name string // on the host
	info os.FileInfo
	tag  uint32 // of a reparse point, or 0
	data []byte // the REPARSE_DATA_BUFFER, if the node made it
}

// Tags of files of the host that Windows can show, but not follow or read.
// https://learn.microsoft.com/openspecs/windows_protocols/ms-fscc/c8e77b37-3909-4fe6-a4ea-2b9d423b1ee4
const (
	tagSocket = 0x80000023 // IO_REPARSE_TAG_AF_UNIX
	tagFIFO   = 0x80000024 // IO_REPARSE_TAG_LX_FIFO
	tagDevice = 0x80000025 // IO_REPARSE_TAG_LX_CHR
)

func (e entry) isDir() bool { return e.info.IsDir() }

// unreadable reports whether the host's mode of a file has no right to read.
func (e entry) unreadable() bool { return e.info.Mode().IsRegular() && e.info.Mode().Perm()&0o444 == 0 }

// attributes returns the FILE_ATTRIBUTE_ bits. A link or mount point of the node is a directory; a symbolic link of the
// host is a file with a tag that Win32 does not follow.
func (e entry) attributes() (bits uint32) {
	if e.isDir() {
		bits |= win32.FILE_ATTRIBUTE_DIRECTORY
	} else if e.info.Mode().IsRegular() && e.info.Mode().Perm()&0o200 == 0 {
		bits |= win32.FILE_ATTRIBUTE_READONLY
	}
	if e.tag != 0 {
		bits |= win32.FILE_ATTRIBUTE_REPARSE_POINT
	}
	if bits == 0 {
		bits = win32.FILE_ATTRIBUTE_NORMAL
	}
	return bits
}

// hostIgnoresCase means that the host finds a file by names other than the stored one: in another case, and on Windows
// by a short name, which files of the node do not have. There, only a listing has the stored names.
const hostIgnoresCase = runtime.GOOS == "windows" || runtime.GOOS == "darwin"

// lookup finds a name in a directory: the exact one, or else, of those that differ in case, the first in byte order. A
// missing name is fs.ErrNotExist. The entry has the stored name.
func lookup(dir *os.Root, name string) (entry, error) {
	if isReserved(name) {
		return entry{}, fs.ErrNotExist
	}
	exact := hostName(name)
	info, err := dir.Lstat(exact)
	if err == nil && !hostIgnoresCase {
		return inspect(dir, exact, info)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return entry{}, err
	}
	exists, stored, other := err == nil, false, ""
	err = eachName(dir, func(candidate string) bool {
		switch {
		case candidate == exact:
			stored = exists
		case sameName(name, windowsName(candidate)) && (other == "" || candidate < other):
			other = candidate
		}
		return !stored
	})
	switch {
	case err != nil:
		return entry{}, err
	case stored:
		return inspect(dir, exact, info)
	case other == "":
		return entry{}, fs.ErrNotExist
	}
	if info, err = dir.Lstat(other); err != nil {
		return entry{}, err
	}
	return inspect(dir, other, info)
}

// inspect returns the entry of a name.
func inspect(dir *os.Root, name string, info os.FileInfo) (entry, error) {
	e := entry{name: name, info: info}
	switch mode := info.Mode(); {
	case mode.IsDir():
		file := path.Join(name, reservedPrefix)
		link, err := dir.Lstat(file)
		if errors.Is(err, fs.ErrNotExist) {
			return e, nil
		}
		if err != nil {
			return entry{}, err
		}
		e.data, err = readFileIn(dir, file, link, win32.MAXIMUM_REPARSE_DATA_BUFFER_SIZE)
		if errors.Is(err, errNotOurs) || err == nil && len(e.data) < 8 {
			e.data, e.tag = nil, win32.IO_REPARSE_TAG_LX_SYMLINK // it cannot be followed
			return e, nil
		}
		if err == nil {
			e.tag = binary.LittleEndian.Uint32(e.data)
		}
		return e, err
	case mode&fs.ModeSymlink != 0:
		e.tag = win32.IO_REPARSE_TAG_LX_SYMLINK
	case mode&fs.ModeSocket != 0:
		e.tag = tagSocket
	case mode&fs.ModeNamedPipe != 0:
		e.tag = tagFIFO
	case !mode.IsRegular():
		e.tag = tagDevice
	}
	return e, nil
}

// openDir opens a directory that was looked up. It fails if a link has taken the directory's place meanwhile.
func openDir(parent *os.Root, e entry) (*os.Root, error) {
	dir, err := parent.OpenRoot(e.name)
	if err != nil {
		return nil, err
	}
	opened, err := dir.Stat(".")
	if err == nil && !os.SameFile(opened, e.info) {
		err = win32.ERROR_SHARING_VIOLATION
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// checkEmpty fails unless Windows sees nothing in the directory.
func checkEmpty(dir *os.Root) error {
	empty := true
	if err := eachName(dir, func(string) bool { empty = false; return false }); err != nil {
		return err
	}
	if !empty {
		return win32.ERROR_DIR_NOT_EMPTY
	}
	return nil
}

// namesAtOnce is how many names of a directory are read from the host at a time: a workload may put a million there.
const namesAtOnce = 512

// everyName calls f with the names in a directory of the host, in the host's order, until f fails.
func everyName(dir *os.Root, f func(name string) error) error {
	file, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer file.Close()
	for {
		names, err := file.Readdirnames(namesAtOnce)
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

// errEnough ends everyName early.
var errEnough = errors.New("enough names")

// eachName calls f with the names in a directory of the host, without reserved ones, until f returns false.
func eachName(dir *os.Root, f func(name string) bool) error {
	err := everyName(dir, func(name string) error {
		if !isReserved(name) && !f(name) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// listing is how far the entries of a directory have been returned.
type listing struct {
	begun   bool
	rest    *os.File               // the directory, while it may have more names
	entries []win32.DirectoryEntry // read and not returned yet
}

func (l *listing) close() error {
	if l.rest == nil {
		return nil
	}
	rest := l.rest
	l.rest = nil
	return rest.Close()
}

// entryBytes is the size of FILE_FULL_DIR_INFO up to its name.
const entryBytes = 68

// list returns the next entries of a directory.
func (h *fileHandle) list(out []byte, restart bool) error {
	switch {
	case h.self == nil:
		return win32.ERROR_INVALID_PARAMETER
	case !h.has(win32.FILE_LIST_DIRECTORY | win32.GENERIC_READ):
		return win32.ERROR_ACCESS_DENIED
	case len(out) < entryBytes:
		// MS-FSA: STATUS_INFO_LENGTH_MISMATCH; one that only the name is too long for is ERROR_MORE_DATA
		return win32.ERROR_BAD_LENGTH
	}
	first := restart || !h.listing.begun
	if first {
		if err := h.beginListing(); err != nil {
			return err
		}
	}
	for len(h.listing.entries) == 0 && h.listing.rest != nil {
		if err := h.readEntries(); err != nil {
			return err
		}
	}
	if len(h.listing.entries) == 0 {
		n := h.content.node
		if first && h.parent == nil && !h.content.isShare() && n.state.Switches.EmptyRootNotFound {
			return win32.ERROR_FILE_NOT_FOUND // MS-FSA 2.1.5.6.3: STATUS_NO_SUCH_FILE
		}
		return win32.ERROR_NO_MORE_FILES
	}
	b, used := deviceside.DirectoryEntries(h.listing.entries, len(out))
	if used == 0 {
		return win32.ERROR_MORE_DATA
	}
	copy(out, b)
	clear(out[len(b):])
	h.listing.entries = h.listing.entries[used:]
	return nil
}

func (h *fileHandle) beginListing() error {
	if err := h.listing.close(); err != nil {
		return err
	}
	h.listing = listing{begun: true}
	if err := isLink(h.self); err != nil { // a reparse point opened as itself cannot be listed
		return nil //nolint:nilerr // it has no entries
	}
	var err error
	if h.listing.rest, err = h.self.Open("."); err != nil {
		return err
	}
	if h.parent != nil {
		dot := win32.DirectoryEntry{Name: ".", Attributes: win32.FILE_ATTRIBUTE_DIRECTORY}
		dotDot := dot
		dotDot.Name = ".."
		h.listing.entries = append(h.listing.entries, dot, dotDot)
	}
	return h.readEntries()
}

// readEntries reads further names of the directory. Those that are read together are in the order of NTFS, by
// upper-case name, and so are all of most directories. Names that Windows cannot have are left out.
func (h *fileHandle) readEntries() error {
	names, err := h.listing.rest.Readdirnames(namesAtOnce)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(names) < namesAtOnce { // the host has no more
		if err := h.listing.close(); err != nil {
			return err
		}
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := strings.Map(upper, names[i]), strings.Map(upper, names[j])
		return a < b || a == b && names[i] < names[j]
	})
	for _, name := range names {
		if isReserved(name) || !isFileName(windowsName(name)) {
			continue
		}
		info, err := h.self.Lstat(name)
		if err != nil {
			continue // deleted meanwhile
		}
		e, err := inspect(h.self, name, info)
		if err != nil {
			continue
		}
		length, allocated := sizes(info)
		h.listing.entries = append(h.listing.entries, win32.DirectoryEntry{
			Name: windowsName(name), Attributes: e.attributes(), ReparseTag: e.tag, EndOfFile: length, AllocationSize: allocated,
		})
	}
	return nil
}
