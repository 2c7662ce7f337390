// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"cmp"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
)

// listing is how far the entries of a directory have been returned.
type listing struct {
	begun   bool
	rest    *os.File               // the directory, while it may have more names
	entries []win32.DirectoryEntry // read and not returned yet
}

func (l *listing) close() {
	if l.rest != nil {
		_ = l.rest.Close()
		l.rest = nil
	}
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
		n := h.node
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
	h.listing.close()
	h.listing = listing{begun: true}
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
	names, err := h.listing.rest.Readdirnames(hostfiles.NamesAtOnce)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(names) < hostfiles.NamesAtOnce { // the host has no more
		h.listing.close()
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(hostfiles.Upper(a), hostfiles.Upper(b)), cmp.Compare(a, b))
	})
	for _, name := range names {
		if hostfiles.IsReserved(name) || !hostfiles.IsFileName(name) {
			continue
		}
		info, err := h.self.Lstat(name)
		if err != nil {
			continue // deleted meanwhile
		}
		e, err := hostfiles.Inspect(h.self, hostfiles.Entry{Name: name, Info: info})
		if err != nil {
			continue
		}
		h.listing.entries = append(h.listing.entries,
			win32.DirectoryEntry{Name: name, Attributes: e.Attributes(), ReparseTag: e.Tag})
	}
	return nil
}
