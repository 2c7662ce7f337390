// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"io"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// DiskInterfaces implements kernel.Devices.
func (n *Node) DiskInterfaces() ([]string, error) {
	if err := n.passTime(); err != nil {
		return nil, failed("CM_Get_Device_Interface_ListW", "", err)
	}
	var paths []string
	for _, d := range n.diskList() {
		paths = append(paths, d.interfacePath())
	}
	return paths, nil
}

// ReenumerateDevices implements kernel.Devices. Disks come and go at once, so there is nothing left to find.
func (n *Node) ReenumerateDevices() error { return nil }

// OpenDevice implements kernel.Devices. It opens a disk as \\.\PhysicalDriveN or by its interface path, a volume as
// \\?\Volume{GUID} and an adapter as \\.\ScsiN:, all in any case.
func (n *Node) OpenDevice(path string, access uint32) (kernel.Handle, error) {
	h, err := n.openDevice(path, access)
	if err != nil {
		return nil, failed("CreateFileW", path, err)
	}
	return h, nil
}

func (n *Node) openDevice(path string, access uint32) (kernel.Handle, error) {
	if err := n.passTime(); err != nil {
		return nil, err
	}
	n.mu.RLock()
	base := device{node: n, boot: n.boot, object: path, access: access}
	n.mu.RUnlock()

	lower := strings.ToLower(path)
	if number, ok := cutNumber(lower, `\\.\physicaldrive`, ""); ok {
		if d, ok := n.diskNumbered(number); ok {
			return &diskHandle{base, d}, nil
		}
		return nil, win32.ERROR_FILE_NOT_FOUND
	}
	if adapter, ok := cutNumber(lower, `\\.\scsi`, ":"); ok {
		for _, d := range n.diskList() {
			if uint32(d.record.Adapter) == adapter {
				return &adapterHandle{base}, nil
			}
		}
		return nil, win32.ERROR_FILE_NOT_FOUND
	}
	if text, _, ok := strings.Cut(strings.TrimPrefix(lower, interfacePrefix), "&"); ok && strings.HasPrefix(lower, interfacePrefix) {
		number, _ := cutNumber(text, "", "")
		if d, ok := n.diskNumbered(number); ok && strings.EqualFold(d.interfacePath(), path) {
			return &diskHandle{base, d}, nil
		}
		return nil, win32.ERROR_FILE_NOT_FOUND
	}
	if !strings.HasSuffix(path, `\`) {
		if id, ok := parseVolumeName(path + `\`); ok {
			return n.openVolume(base, id)
		}
	}
	return nil, win32.ERROR_FILE_NOT_FOUND
}

// cutNumber reads a decimal number between a prefix and a suffix.
func cutNumber(s, prefix, suffix string) (uint32, bool) {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return 0, false
	}
	digits, ok := strings.CutSuffix(rest, suffix)
	if !ok || digits == "" || strings.TrimLeft(digits, "0123456789") != "" {
		return 0, false
	}
	number, err := strconv.ParseUint(digits, 10, 32)
	return uint32(number), err == nil
}

// device is what all handles on devices have in common. Its methods are what Windows answers when the device has no
// such function.
type device struct {
	node   *Node
	boot   int
	object string
	access uint32
}

const (
	readAccess  = win32.GENERIC_READ | win32.FILE_READ_DATA
	writeAccess = win32.GENERIC_WRITE | win32.FILE_WRITE_DATA
)

// alive fails for handles of an earlier boot.
func (h *device) alive() error {
	h.node.mu.RLock()
	defer h.node.mu.RUnlock()
	if h.boot != h.node.boot {
		return errRebooted
	}
	return nil
}

// allowed checks the access that a control code asks of the handle.
func (h *device) allowed(code uint32) error {
	need := win32.ControlCodeAccess(code)
	if need&win32.FILE_READ_ACCESS != 0 && h.access&readAccess == 0 ||
		need&win32.FILE_WRITE_ACCESS != 0 && h.access&writeAccess == 0 {
		return win32.ERROR_ACCESS_DENIED
	}
	return h.alive()
}

// control runs a control code that was found, and names it in the error.
func (h *device) control(code uint32, run func() (int, error)) (int, error) {
	err := h.allowed(code)
	n := 0
	if err == nil {
		n, err = run()
	}
	return n, failed("DeviceIoControl", win32.ControlCodeName(code)+" "+h.object, err)
}

// FinalPath implements kernel.Handle.
func (h *device) FinalPath(uint32) (string, error) {
	return "", failed("GetFinalPathNameByHandleW", h.object, win32.ERROR_INVALID_FUNCTION)
}

// Information implements kernel.Handle.
func (h *device) Information(uint32, []byte) error {
	return failed("GetFileInformationByHandleEx", h.object, win32.ERROR_INVALID_PARAMETER)
}

// SetInformation implements kernel.Handle.
func (h *device) SetInformation(uint32, []byte) error {
	return failed("SetFileInformationByHandle", h.object, win32.ERROR_INVALID_PARAMETER)
}

// readable checks a read by sectors from a medium of so many bytes and cuts it to the end; 0 is the end.
func (h *device) readable(p []byte, offset, size, sector int64) (int, error) {
	switch {
	case h.access&readAccess == 0:
		return 0, win32.ERROR_ACCESS_DENIED
	case offset < 0 || offset%sector != 0 || int64(len(p))%sector != 0:
		return 0, win32.ERROR_INVALID_PARAMETER
	case offset >= size:
		return 0, nil
	}
	return int(min(int64(len(p)), size-offset)), nil
}

// put copies a fixed structure out; a buffer that is too small gets nothing.
func put(out, b []byte) (int, error) {
	if len(out) < len(b) {
		return 0, win32.ERROR_INSUFFICIENT_BUFFER
	}
	return copy(out, b), nil
}

// parsed turns the refusal of an input buffer into ERROR_INVALID_PARAMETER.
func parsed[T any](v T, err error) (T, error) {
	if err != nil {
		return v, win32.ERROR_INVALID_PARAMETER
	}
	return v, nil
}

// adapterHandle is an open \\.\ScsiN:.
type adapterHandle struct{ device }

// DeviceIoControl implements kernel.Handle.
func (h *adapterHandle) DeviceIoControl(code uint32, _, _ []byte) (int, error) {
	return h.control(code, func() (int, error) {
		if code != win32.IOCTL_SCSI_RESCAN_BUS {
			return 0, win32.ERROR_INVALID_FUNCTION
		}
		return 0, nil // disks come and go at once
	})
}

// ReadAt implements kernel.Handle.
func (h *adapterHandle) ReadAt([]byte, int64) (int, error) {
	return 0, failed("ReadFile", h.object, win32.ERROR_INVALID_FUNCTION)
}

// Flush implements kernel.Handle.
func (h *adapterHandle) Flush() error {
	return failed("FlushFileBuffers", h.object, win32.ERROR_INVALID_FUNCTION)
}

// Close implements kernel.Handle.
func (h *adapterHandle) Close() error { return nil }

// endOfFile is what a read at the end gives.
func endOfFile(n, wanted int) error {
	if n < wanted {
		return io.EOF
	}
	return nil
}
