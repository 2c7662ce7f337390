// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// deletable returns the entry of the handle, if the handle may delete it.
func (h *fileHandle) deletable(evenReadOnly bool) (entry, error) {
	if !h.has(win32.DELETE) || h.parent == nil { // nil: a root directory
		return entry{}, win32.ERROR_ACCESS_DENIED
	}
	e, err := h.entry()
	if err == nil && !evenReadOnly && e.attributes()&win32.FILE_ATTRIBUTE_READONLY != 0 {
		err = win32.ERROR_ACCESS_DENIED
	}
	return e, err
}

// disposeAtClose marks the file for deletion when the last handle is closed. Until then it cannot be opened again.
func (h *fileHandle) disposeAtClose(remove bool) error {
	e, err := h.deletable(!remove)
	if err != nil {
		return err
	}
	if remove && e.isDir() && e.tag == 0 {
		empty, err := isEmpty(h.self)
		if err != nil {
			return err
		}
		if !empty {
			return win32.ERROR_DIR_NOT_EMPTY
		}
	}
	h.pending = remove
	return nil
}

// finishDeletion deletes a marked file when its last handle is being closed; otherwise a handle that is still open
// takes the mark over.
func (h *fileHandle) finishDeletion() error {
	if !h.pending || h.deleted {
		return nil
	}
	for _, other := range h.content.opens {
		if other != h && os.SameFile(other.info, h.info) {
			other.pending = true
			return nil
		}
	}
	e, err := h.entry()
	if err != nil {
		return err
	}
	return h.remove(e)
}

// remove deletes the file and frees its name.
func (h *fileHandle) remove(e entry) error {
	err := h.content.node.host.deleteEntry(h.parent, e)
	h.deleted = err == nil || errors.Is(err, errNotDurable)
	return h.mountGone(e, err)
}

// posixDelete reports whether the file system frees a name while others have the file open.
func (h *fileHandle) posixDelete() bool {
	v, ok := h.content.node.volume(h.content.id)
	return !ok || v.boot.fileSystem == "NTFS" // of a share: the server's file system
}

// dispose deletes the file: its name is gone when this returns. Deletion at the last close, without
// FILE_DISPOSITION_FLAG_POSIX_SEMANTICS, is not emulated: ERROR_NOT_SUPPORTED.
func (h *fileHandle) dispose(flags uint32) error {
	switch {
	case !h.posixDelete():
		return win32.ERROR_INVALID_PARAMETER // FAT and exFAT lack the class
	case !h.has(win32.DELETE):
		return win32.ERROR_ACCESS_DENIED // even to change nothing
	case flags&win32.FILE_DISPOSITION_FLAG_DELETE == 0:
		return nil
	case flags&win32.FILE_DISPOSITION_FLAG_POSIX_SEMANTICS == 0:
		return win32.ERROR_NOT_SUPPORTED
	}
	e, err := h.deletable(flags&win32.FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE != 0)
	if err != nil {
		return err
	}
	return h.remove(e)
}
