// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"os"
	"path/filepath"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
)

// fileSystem is FILE_DEVICE_FILE_SYSTEM, the device type in the control codes of file systems.
const fileSystem = 9

// DeviceIoControl implements kernel.Handle with the control codes of reparse points.
func (h *fileHandle) DeviceIoControl(code uint32, in, out []byte) (n int, err error) {
	change := code == win32.FSCTL_SET_REPARSE_POINT || code == win32.FSCTL_DELETE_REPARSE_POINT
	err = h.content.node.call("DeviceIoControl", win32.ControlCodeName(code)+" "+h.object, func() (err error) {
		if err := h.usable(change); err != nil {
			return err
		}
		if code>>16 != fileSystem {
			return win32.ERROR_INVALID_PARAMETER // a device's: file systems pass those on of volumes only
		}
		switch code {
		case win32.FSCTL_GET_REPARSE_POINT:
			n, err = h.getReparse(out)
			return err
		case win32.FSCTL_SET_REPARSE_POINT:
			return h.setReparse(in)
		case win32.FSCTL_DELETE_REPARSE_POINT:
			return h.deleteReparse(in)
		}
		return win32.ERROR_INVALID_FUNCTION
	})
	return n, err
}

// knowsReparsePoints is false on FAT and exFAT.
func (c *content) knowsReparsePoints() bool {
	v, ok := c.node.volume(c.id)
	return !ok || v.boot.FileSystem == "NTFS" || v.boot.FileSystem == "ReFS" // of a share: the server's file system
}

// getReparse returns as much as fits, and ERROR_MORE_DATA if that is not all.
func (h *fileHandle) getReparse(out []byte) (int, error) {
	if !h.content.knowsReparsePoints() {
		return 0, win32.ERROR_INVALID_FUNCTION
	}
	e, err := h.entry()
	if err != nil {
		return 0, err
	}
	if e.tag == 0 {
		return 0, win32.ERROR_NOT_A_REPARSE_POINT
	}
	r, err := e.reparse()
	if err != nil {
		return 0, err
	}
	b := r.Bytes()
	const header = 8
	switch {
	case len(out) < header:
		return 0, win32.ERROR_INSUFFICIENT_BUFFER
	case len(out) < len(b):
		return copy(out, b), win32.ERROR_MORE_DATA
	}
	return copy(out, b), nil
}

// changingReparse returns the entry whose reparse point the handle may change.
func (h *fileHandle) changingReparse() (entry, error) {
	const write = win32.FILE_WRITE_DATA | win32.FILE_WRITE_ATTRIBUTES | win32.GENERIC_WRITE
	if !h.has(write) {
		return entry{}, win32.ERROR_ACCESS_DENIED
	}
	e, err := h.entry()
	if err != nil {
		return entry{}, err
	}
	_, ok := h.content.node.volume(h.content.id)
	switch {
	case !ok && !h.content.isShare():
		return entry{}, errVolumeGone
	case !h.content.knowsReparsePoints():
		return entry{}, win32.ERROR_INVALID_FUNCTION
	case h.parent == nil:
		return entry{}, win32.ERROR_INVALID_PARAMETER // a root directory
	case !e.isDir():
		return entry{}, win32.ERROR_NOT_SUPPORTED // links to files are not emulated
	}
	return e, nil
}

func (h *fileHandle) setReparse(in []byte) error {
	e, err := h.changingReparse()
	if err != nil {
		return err
	}
	r, err := win32.ParseReparsePoint(in)
	switch {
	case err != nil:
		return win32.ERROR_INVALID_REPARSE_DATA
	case r.Tag == 0 || r.Tag == 1:
		return win32.ERROR_REPARSE_TAG_INVALID
	// MS-FSA 2.1.5.10.37; on a share, the server decides
	case r.Tag == win32.IO_REPARSE_TAG_SYMLINK && !h.content.isShare():
		if err := h.content.node.privileged(createSymbolicLink, win32.ERROR_PRIVILEGE_NOT_HELD); err != nil {
			return err
		}
	}
	return h.content.node.host.setReparse(h.self, r, e.tag)
}

func (h *fileHandle) deleteReparse(in []byte) error {
	e, err := h.changingReparse()
	if err != nil {
		return err
	}
	tag, err := deviceside.ParseDeleteReparsePoint(in)
	switch {
	case err != nil:
		return win32.ERROR_INVALID_REPARSE_DATA
	case e.tag == 0:
		return win32.ERROR_NOT_A_REPARSE_POINT
	case e.tag != tag:
		return win32.ERROR_REPARSE_TAG_MISMATCH
	}
	return h.content.node.host.clearReparse(h.self)
}

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
	if err := checkEmpty(dir); err != nil {
		return err
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
	if err := checkEmpty(self); err != nil {
		return err
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
