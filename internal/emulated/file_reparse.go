// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

// DeviceIoControl implements kernel.Handle with the control codes of reparse points.
func (h *fileHandle) DeviceIoControl(code uint32, in, out []byte) (n int, err error) {
	defer h.node.call("DeviceIoControl", win32.ControlCodeName(code)+" "+h.object, &err)()
	if err := h.usable(false); err != nil {
		return 0, err
	}
	switch code {
	case win32.FSCTL_GET_REPARSE_POINT:
		return h.getReparse(out)
	case win32.FSCTL_SET_REPARSE_POINT:
		return 0, h.setReparse(in)
	case win32.FSCTL_DELETE_REPARSE_POINT:
		return 0, h.deleteReparse(in)
	}
	return 0, win32.ERROR_INVALID_FUNCTION
}

// fileSystem returns the name of the file system: of a volume, or of a share's server.
func (c *content) fileSystem() string {
	if v := c.node.disks.volume(c.id); v != nil {
		return v.boot.FileSystem
	}
	return "NTFS"
}

// knowsReparsePoints is false on FAT and exFAT.
func (c *content) knowsReparsePoints() bool {
	return c.fileSystem() == "NTFS" || c.fileSystem() == "ReFS"
}

// getReparse returns as much as fits, and ERROR_MORE_DATA if that is not all.
func (h *fileHandle) getReparse(out []byte) (int, error) {
	if !h.content.knowsReparsePoints() {
		return 0, win32.ERROR_INVALID_FUNCTION
	}
	r, err := h.reparse()
	if err != nil {
		return 0, err
	}
	b := r.Bytes()
	if len(out) < headerBytes {
		return 0, win32.ERROR_INSUFFICIENT_BUFFER
	}
	n := copy(out, b)
	if n < len(b) {
		err = win32.ERROR_MORE_DATA
	}
	return n, err
}

// reparse returns the reparse data of the file.
func (h *fileHandle) reparse() (win32.ReparsePoint, error) {
	e, err := h.entry()
	if err == nil && e.Tag == 0 {
		err = win32.ERROR_NOT_A_REPARSE_POINT
	}
	if err != nil {
		return win32.ReparsePoint{}, err
	}
	return e.Reparse()
}

// changingReparse returns the entry whose reparse point the handle may change.
func (h *fileHandle) changingReparse() (hostfiles.Entry, error) {
	if err := h.usable(true); err != nil {
		return hostfiles.Entry{}, err
	}
	const write = win32.FILE_WRITE_DATA | win32.FILE_WRITE_ATTRIBUTES | win32.GENERIC_WRITE
	if !h.has(write) {
		return hostfiles.Entry{}, win32.ERROR_ACCESS_DENIED
	}
	e, err := h.entry()
	if err != nil {
		return hostfiles.Entry{}, err
	}
	switch {
	case !h.content.knowsReparsePoints():
		return hostfiles.Entry{}, win32.ERROR_INVALID_FUNCTION
	case h.parent == nil:
		return hostfiles.Entry{}, win32.ERROR_INVALID_PARAMETER // a root directory
	case !e.IsDir():
		return hostfiles.Entry{}, win32.ERROR_NOT_SUPPORTED // links to files are not emulated
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
	// MS-FSA 2.1.5.10.37; on a share, the server decides
	case r.Tag == win32.IO_REPARSE_TAG_SYMLINK && !h.content.isShare() &&
		!h.node.privileged(scenario.CreateSymbolicLink):
		return win32.ERROR_PRIVILEGE_NOT_HELD
	case e.Tag != 0 && e.Tag != r.Tag:
		return win32.ERROR_REPARSE_TAG_MISMATCH
	}
	return h.node.host.SetReparse(h.self, r)
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
	case e.Tag == 0:
		return win32.ERROR_NOT_A_REPARSE_POINT
	case e.Tag != tag:
		return win32.ERROR_REPARSE_TAG_MISMATCH
	}
	return h.node.host.ClearReparse(h.self)
}
