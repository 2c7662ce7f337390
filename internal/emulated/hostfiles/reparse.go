// SPDX-License-Identifier: Apache-2.0

package hostfiles

import (
	"os"
	"path/filepath"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// A reparse point is a directory that contains only the file ReservedPrefix, which holds the REPARSE_DATA_BUFFER. Two
// more names are short-lived and mean nothing when they are left over.
const (
	reparseNew  = ReservedPrefix + "-new"  // the file before it gets its name
	reparseGone = ReservedPrefix + "-gone" // begins the name of a reparse point that is being deleted
)

// Reparse returns the reparse data of an entry that has a tag. Entries that the node did not make have none.
func (e Entry) Reparse() (win32.ReparsePoint, error) {
	if e.data == nil {
		return win32.ReparsePoint{Tag: e.Tag}, nil
	}
	r, err := win32.ParseReparsePoint(e.data)
	if err != nil {
		return win32.ReparsePoint{}, win32.ERROR_CANT_ACCESS_FILE
	}
	return r, nil
}

// SetReparse turns an empty directory, or a reparse point, into a reparse point.
func (h *Host) SetReparse(dir *os.Root, r win32.ReparsePoint) error {
	if err := CheckEmpty(dir); err != nil {
		return err
	}
	return h.WriteFileIn(dir, ReservedPrefix, reparseNew, r.Bytes())
}

// ClearReparse turns a reparse point back into an empty directory.
func (h *Host) ClearReparse(dir *os.Root) error { return h.removeIn(dir, ReservedPrefix) }

// DeleteEntry removes a file, an empty directory, or a reparse point itself. The name is free at once. Whatever
// happens, a reparse point never becomes a plain directory on the way.
func (h *Host) DeleteEntry(dir *os.Root, e Entry) error {
	if !e.IsDir() {
		return h.removeIn(dir, e.Name)
	}
	if e.Tag == 0 {
		return h.deleteDir(dir, e)
	}
	// Windows does not know files that were put beside the reserved file on the host.
	gone := reparseGone + NewName()
	if err := h.RenameIn(dir, e.Name, gone); err != nil {
		return err
	}
	return h.Change("removeAll", filepath.Join(dir.Name(), gone), func() error { return dir.RemoveAll(gone) })
}

func (h *Host) deleteDir(dir *os.Root, e Entry) error {
	self, err := OpenDir(dir, e)
	if err != nil {
		return err
	}
	defer self.Close()
	if err := CheckEmpty(self); err != nil {
		return err
	}
	if err := purge(self); err != nil {
		return err
	}
	return h.removeIn(dir, e.Name)
}

// purge removes what interrupted deletions and reparse points left over in a directory. It is never called on a reparse
// point.
func purge(dir *os.Root) error {
	return everyName(dir, func(name string) error {
		if !IsReserved(name) {
			return nil
		}
		return dir.RemoveAll(name)
	})
}
