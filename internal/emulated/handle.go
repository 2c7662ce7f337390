// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// handle is what all handles have. Its methods answer like Windows for an object that lacks the function.
type handle struct {
	node   *Node
	object string // the path by which it was opened
	access uint32
	closed bool
}

// call begins a kernel call on the handle; see Node.call.
func (h *handle) call(function string, err *error) (end func()) {
	return h.node.call(function, h.object, err)
}

// has reports whether the handle has one of the rights.
func (h *handle) has(rights uint32) bool { return h.access&(rights|genericAll) != 0 }

// lacks and refuses return the errors of functions that an object does not have.
func (h *handle) lacks(function string) error {
	return failed(function, h.object, win32.ERROR_INVALID_FUNCTION)
}

func (h *handle) refuses(function string) error {
	return failed(function, h.object, win32.ERROR_INVALID_PARAMETER)
}

func (h *handle) ReadAt([]byte, int64) (int, error)   { return 0, h.lacks("ReadFile") }
func (h *handle) Flush() error                        { return h.lacks("FlushFileBuffers") }
func (h *handle) FinalPath(uint32) (string, error)    { return "", h.lacks("GetFinalPathNameByHandleW") }
func (h *handle) Information(uint32, []byte) error    { return h.refuses("GetFileInformationByHandleEx") }
func (h *handle) SetInformation(uint32, []byte) error { return h.refuses("SetFileInformationByHandle") }
func (h *handle) FsInformation(uint32, []byte) error {
	return h.refuses("NtQueryVolumeInformationFile")
}
func (h *handle) Rename(kernel.Handle, string) error { return h.refuses("NtSetInformationFile") }
func (h *handle) AccessList() ([]byte, error)        { return nil, h.refuses("GetSecurityInfo") }
func (h *handle) SetAccessList([]byte) error         { return h.refuses("SetKernelObjectSecurity") }
