// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"os"
	"path/filepath"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// A reparse point is a directory that contains only the file reservedPrefix, which holds the REPARSE_DATA_BUFFER. Two
// more names are short-lived and mean nothing when they are left over.
const (
	reparseNew  = reservedPrefix + "-new"  // the file before it gets its name
	reparseGone = reservedPrefix + "-gone" // begins the name of a reparse point that is being deleted
)

// reparse returns the reparse data of an entry that has a tag. Entries that the node did not make have none.
func (e entry) reparse() (win32.ReparsePoint, error) {
	if e.data == nil {
		return win32.ReparsePoint{Tag: e.tag}, nil
	}
	r, err := win32.ParseReparsePoint(e.data)
	if err != nil {
		return win32.ReparsePoint{}, win32.ERROR_CANT_ACCESS_FILE
	}
	return r, nil
}

// setReparse turns an empty directory, or one that already has the same tag, into a reparse point.
func (h *host) setReparse(dir *os.Root, r win32.ReparsePoint, had uint32) error {
	if had != 0 && had != r.Tag {
		return win32.ERROR_REPARSE_TAG_MISMATCH
	}
	empty, err := isEmpty(dir)
	if err != nil {
		return err
	}
	if !empty {
		return win32.ERROR_DIR_NOT_EMPTY
	}
	data := r.Bytes()
	if data == nil {
		return win32.ERROR_INVALID_REPARSE_DATA
	}
	return h.writeFileIn(dir, reservedPrefix, reparseNew, data)
}

// clearReparse turns a reparse point back into an empty directory.
func (h *host) clearReparse(dir *os.Root) error { return h.removeIn(dir, reservedPrefix) }

// deleteEntry removes a file, an empty directory, or a reparse point itself. The name is free at once. Whatever
// happens, a reparse point never becomes a plain directory on the way.
func (h *host) deleteEntry(dir *os.Root, e entry) error {
	if !e.isDir() {
		return h.removeIn(dir, e.name)
	}
	if e.tag == 0 {
		return h.deleteDir(dir, e)
	}
	// Windows does not know files that were put beside the reserved file on the host.
	gone := reparseGone + newImageName()
	if err := h.renameIn(dir, e.name, gone); err != nil {
		return err
	}
	if err := h.step("removeAll", filepath.Join(dir.Name(), gone)); err != nil {
		return err
	}
	return h.noted(dir.RemoveAll(gone))
}

func (h *host) deleteDir(dir *os.Root, e entry) error {
	self, err := openDir(dir, e)
	if err != nil {
		return err
	}
	defer self.Close()
	empty, err := isEmpty(self)
	if err != nil {
		return err
	}
	if !empty {
		return win32.ERROR_DIR_NOT_EMPTY
	}
	if err := purge(self); err != nil {
		return h.noted(err)
	}
	return h.removeIn(dir, e.name)
}

// purge removes what interrupted deletions and reparse points left over in a directory. It is never called on a reparse
// point.
func purge(dir *os.Root) error {
	return everyName(dir, func(name string) error {
		if !isReserved(name) {
			return nil
		}
		return dir.RemoveAll(name)
	})
}
