// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"os"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// A reparse point is a directory with nothing in it but the file reservedPrefix, which holds the
// REPARSE_DATA_BUFFER. Two more names are short-lived and mean nothing when they are left over.
const (
	reparseNew  = reservedPrefix + "-new"  // the file before it gets its name
	reparseGone = reservedPrefix + "-gone" // starts the name of a reparse point that is being deleted
)

// reparse is the reparse data of an entry that has a tag. Those that the node did not make have none.
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

// setReparse makes an empty directory, or one that has the same tag already, a reparse point.
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

// clearReparse makes a reparse point the empty directory that it was.
func (h *host) clearReparse(dir *os.Root) error { return h.removeIn(dir, reservedPrefix) }

// deleteEntry removes a name: a file, an empty directory, or a reparse point as itself. Its name is free at once and
// whatever happens: a reparse point never becomes a plain directory on the way.
func (h *host) deleteEntry(dir *os.Root, e entry) error {
	if !e.isDir() {
		return h.removeIn(dir, e.name)
	}
	if e.tag == 0 {
		return h.deleteDir(dir, e)
	}
	// What somebody on the host may have put beside the reserved file is nothing that Windows knows of.
	gone := reparseGone + newImageName()
	if err := h.renameIn(dir, e.name, gone); err != nil {
		return err
	}
	if err := h.step("removeAll"); err != nil {
		return err
	}
	return dir.RemoveAll(gone)
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
		return err
	}
	return h.removeIn(dir, e.name)
}

// purge removes what deletions and reparse points left over in a directory when the process died. It is never called
// on a reparse point.
func purge(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if isReserved(name) {
			if err := dir.RemoveAll(name); err != nil {
				return err
			}
		}
	}
	return nil
}
