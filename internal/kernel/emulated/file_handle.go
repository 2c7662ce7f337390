// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// fileHandle is an open file or directory, or a reparse point opened as itself.
type fileHandle struct {
	content *content
	object  string // the path by which it was opened
	access  uint32
	share   uint32

	parent *os.Root // its directory; nil for the root directory of the volume
	name   string   // in parent, as on the host
	names  []string // from the root to it
	info   os.FileInfo
	self   *os.Root // of a directory

	closed  bool
	deleted bool
	pending bool // to be deleted when no handle is open
	kept    *keptFile
	listing listing
}

// Close implements kernel.Handle.
func (h *fileHandle) Close() error {
	return h.content.node.closing(h.object, h.close)
}

func (h *fileHandle) close() error {
	h.content.drop(h)
	if h.closed {
		return nil
	}
	h.closed = true
	return errors.Join(h.finishDeletion(), h.release())
}

// release closes the host's directories.
func (h *fileHandle) release() error {
	errs := []error{h.listing.close(), h.dropKept()}
	if h.self != nil {
		errs = append(errs, h.self.Close())
	}
	if h.parent != nil {
		errs = append(errs, h.parent.Close())
	}
	return errors.Join(errs...)
}

// using runs a function of the handle, perhaps one that changes a file, if the handle is usable.
func (h *fileHandle) using(function string, change bool, f func() error) error {
	return h.content.node.call(function, h.object, func() error {
		if err := h.usable(change); err != nil {
			return err
		}
		return f()
	})
}

// usable fails for a handle that can only be closed, and for a change on a read-only volume.
func (h *fileHandle) usable(change bool) error {
	switch {
	case h.content.gone != nil:
		return h.content.gone
	case h.closed:
		return win32.ERROR_INVALID_HANDLE
	case change && h.content.readOnly():
		return win32.ERROR_WRITE_PROTECT
	}
	return nil
}

// entry returns the file as it is now, which must be the one that was opened.
func (h *fileHandle) entry() (entry, error) {
	if h.parent == nil {
		info, err := h.self.Stat(".")
		return entry{info: info}, err
	}
	if h.deleted {
		return entry{}, win32.ERROR_ACCESS_DENIED // STATUS_FILE_DELETED
	}
	info, err := h.parent.Lstat(h.name)
	if err != nil {
		return entry{}, err
	}
	if !os.SameFile(info, h.info) {
		return entry{}, win32.ERROR_FILE_NOT_FOUND // moved on the host
	}
	return inspect(h.parent, h.name, info)
}

// has reports whether the handle has one of the rights.
func (h *fileHandle) has(rights uint32) bool { return h.access&(rights|genericAll) != 0 }
