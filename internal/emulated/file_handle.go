// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
)

// fileHandle is an open file or directory, or a reparse point opened as itself.
type fileHandle struct {
	handle
	*location
	share uint32
	info  os.FileInfo
	self  *os.Root // of a directory

	deleted bool
	pending bool // to be deleted when no handle is open
	listing listing
}

func (h *fileHandle) Close() (err error) {
	defer h.call("CloseHandle", &err)()
	return h.close()
}

func (h *fileHandle) close() error {
	h.content.opens = slices.DeleteFunc(h.content.opens, func(o *fileHandle) bool { return o == h })
	if h.closed {
		return nil
	}
	h.closed = true
	defer h.release()
	return h.finishDeletion()
}

// release closes the host's directories, which loses no data.
func (h *fileHandle) release() {
	h.listing.close()
	if h.self != nil {
		_ = h.self.Close()
	}
	h.location.close()
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
func (h *fileHandle) entry() (hostfiles.Entry, error) {
	if h.parent == nil {
		info, err := h.self.Stat(".")
		return hostfiles.Entry{Info: info}, err
	}
	if h.deleted {
		return hostfiles.Entry{}, win32.ERROR_ACCESS_DENIED // STATUS_FILE_DELETED
	}
	info, err := h.parent.Lstat(h.name)
	if err != nil {
		return hostfiles.Entry{}, err
	}
	if !os.SameFile(info, h.info) {
		return hostfiles.Entry{}, win32.ERROR_FILE_NOT_FOUND // moved on the host
	}
	return hostfiles.Inspect(h.parent, hostfiles.Entry{Name: h.name, Info: info})
}

// deletable returns the entry of the handle, if the handle may delete it.
func (h *fileHandle) deletable(evenReadOnly bool) (hostfiles.Entry, error) {
	if !h.has(win32.DELETE) || h.parent == nil { // nil: a root directory
		return hostfiles.Entry{}, win32.ERROR_ACCESS_DENIED
	}
	e, err := h.entry()
	if err == nil && !evenReadOnly && e.Attributes()&win32.FILE_ATTRIBUTE_READONLY != 0 {
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
	if remove && e.IsDir() && e.Tag == 0 {
		if err := hostfiles.CheckEmpty(h.self); err != nil {
			return err
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
func (h *fileHandle) remove(e hostfiles.Entry) error {
	err := h.node.host.DeleteEntry(h.parent, e)
	h.deleted = err == nil
	return err
}

// dispose deletes the file: its name is gone when this returns. Nothing else, such as deletion at the last close, is
// emulated: ERROR_NOT_SUPPORTED.
func (h *fileHandle) dispose(flags uint32) error {
	const atOnce = win32.FILE_DISPOSITION_FLAG_DELETE | win32.FILE_DISPOSITION_FLAG_POSIX_SEMANTICS
	switch {
	case h.content.fileSystem() != "NTFS":
		return win32.ERROR_INVALID_PARAMETER // FAT and exFAT lack the class
	case !h.has(win32.DELETE):
		return win32.ERROR_ACCESS_DENIED
	case flags&atOnce != atOnce:
		return win32.ERROR_NOT_SUPPORTED
	}
	e, err := h.deletable(flags&win32.FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE != 0)
	if err != nil {
		return err
	}
	return h.remove(e)
}

// Rename implements kernel.Handle. Like Windows it moves no directory below which anything is open.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_file_rename_information
func (h *fileHandle) Rename(dir kernel.Handle, name string) (err error) {
	defer h.call("NtSetInformationFile", &err)()
	if err := h.usable(true); err != nil {
		return err
	}
	into, ok := dir.(*fileHandle)
	switch {
	case !ok:
		return win32.ERROR_INVALID_HANDLE
	case !hostfiles.IsFileName(name):
		return win32.ERROR_INVALID_NAME
	case hostfiles.IsReserved(name):
		return win32.ERROR_ACCESS_DENIED
	case into.content != h.content:
		return win32.ERROR_NOT_SAME_DEVICE
	}
	e, err := h.deletable(true)
	if err != nil {
		return err
	}
	if err := into.usable(true); err != nil {
		return err
	}
	if into.self == nil {
		return win32.ERROR_INVALID_PARAMETER // not a directory
	}
	if err := hostfiles.CheckNotLink(into.self); err != nil {
		return err
	}
	to := append(into.names(), name)
	below := func(o *fileHandle) bool { return isBelow(o.names(), h.names()) }
	if slices.ContainsFunc(h.content.opens, below) || isBelow(to, h.names()) {
		return win32.ERROR_ACCESS_DENIED
	}
	taken, err := hostfiles.Lookup(into.self, name)
	switch {
	case err == nil && os.SameFile(taken.Info, h.info) && e.Name != name: // its own, in another case
	case err == nil:
		return win32.ERROR_ALREADY_EXISTS
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := h.node.host.RenameBetween(h.parent, e.Name, into.self, name); err != nil {
		return err
	}
	return h.moved(into, name)
}

// isBelow reports whether a path leads to something in a directory.
func isBelow(names, dir []string) bool {
	return len(names) > len(dir) && slices.EqualFunc(names[:len(dir)], dir, hostfiles.SameName)
}

// moved gives the handles that are open on a file its new place.
func (h *fileHandle) moved(into *fileHandle, name string) error {
	for _, o := range h.content.opens {
		if o.parent == nil || !os.SameFile(o.info, h.info) {
			continue
		}
		parent, err := into.self.OpenRoot(".")
		if err != nil {
			return err // the other handles find their file no more
		}
		o.location.close()
		o.parent, o.above, o.name = parent, into.names(), name
	}
	return nil
}
