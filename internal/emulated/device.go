// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

// DiskInterfaces implements kernel.Devices.
func (n *Node) DiskInterfaces() (paths []string, err error) {
	defer n.call("CM_Get_Device_Interface_ListW", "", &err)()
	for _, d := range n.disks.list() {
		paths = append(paths, d.path)
	}
	return paths, nil
}

// AdapterInterfaces implements kernel.Devices.
func (n *Node) AdapterInterfaces() (paths []string, err error) {
	defer n.call("CM_Get_Device_Interface_ListW", "", &err)()
	for _, a := range n.adapters() {
		paths = append(paths, a.interfacePath())
	}
	return paths, nil
}

// OpenDevice implements kernel.Devices. It opens a disk as \\.\PhysicalDriveN or by its interface path, a volume as
// \\?\Volume{GUID}, \\.\C:, \\?\GLOBALROOT\Device\HarddiskVolumeN or \\?\GLOBALROOT\Device\HarddiskN\PartitionN, an
// adapter by its interface path, and the mount manager, all in any case.
func (n *Node) OpenDevice(path string, access uint32) (_ kernel.Handle, err error) {
	defer n.call("CreateFileW", path, &err)()
	h := &device{handle: handle{node: n, object: path, access: access}, boot: n.boot}
	lower := strings.ToLower(path)
	if lower == strings.ToLower(kernel.MountManager) {
		h.answer = n.answerMountManager
		return h, nil
	}
	number, numbered := cutNumber(lower, `\\.\physicaldrive`)
	for _, d := range n.disks {
		if d.installing == installed && (lower == d.path || numbered && number == d.record.Number) {
			h.answer, h.span = d.answer, d.span
			return h, nil
		}
	}
	if v := n.volumeAtDevice(lower); v != nil {
		return v.open(h)
	}
	for _, a := range n.adapters() {
		if lower == a.interfacePath() {
			h.answer = a.answer
			return h, nil
		}
	}
	return nil, win32.ERROR_FILE_NOT_FOUND
}

// cutNumber reads a decimal number after a prefix.
func cutNumber(s, prefix string) (uint32, bool) {
	digits, ok := strings.CutPrefix(s, prefix)
	number, err := strconv.ParseUint(digits, 10, 32)
	return uint32(number), ok && err == nil
}

// device is a handle on a device.
type device struct {
	handle
	boot int

	answer func(code uint32, in, out []byte) (int, error) // to a control code
	span   func() (span, error)                           // the bytes that it reads; nil: none
}

const (
	readAccess  = win32.GENERIC_READ | win32.FILE_READ_DATA
	writeAccess = win32.GENERIC_WRITE | win32.FILE_WRITE_DATA
	genericAll  = 0x10000000 // GENERIC_ALL
)

// usable fails unless the handle was opened since the last boot.
func (h *device) usable() error {
	if h.closed || h.boot != h.node.boot {
		return win32.ERROR_INVALID_HANDLE
	}
	return nil
}

// DeviceIoControl implements kernel.Handle, if the handle has the access that the code requires.
func (h *device) DeviceIoControl(code uint32, in, out []byte) (_ int, err error) {
	defer h.node.call("DeviceIoControl", win32.ControlCodeName(code)+" "+h.object, &err)()
	if err := h.usable(); err != nil {
		return 0, err
	}
	need := code >> 14 & 3 // CTL_CODE's Access
	if need&deviceside.FILE_READ_ACCESS != 0 && !h.has(readAccess) ||
		need&deviceside.FILE_WRITE_ACCESS != 0 && !h.has(writeAccess) {
		return 0, win32.ERROR_ACCESS_DENIED
	}
	return h.answer(code, in, out)
}

func (h *device) Close() (err error) {
	defer h.call("CloseHandle", &err)()
	h.closed = true
	return nil
}

// span is a part of a disk.
type span struct {
	disk       *disk
	from, size int64
}

// ReadAt implements kernel.Handle: it reads whole sectors, up to the end.
func (h *device) ReadAt(p []byte, offset int64) (n int, err error) {
	defer func() {
		if err == nil && n < len(p) {
			err = io.EOF
		}
	}()
	defer h.call("ReadFile", &err)()
	if err := h.usable(); err != nil {
		return 0, err
	}
	if h.span == nil {
		return 0, win32.ERROR_INVALID_FUNCTION
	}
	part, err := h.span()
	if err != nil {
		return 0, err
	}
	sector := part.disk.sectorSize()
	switch {
	case !h.has(readAccess):
		return 0, win32.ERROR_ACCESS_DENIED
	case offset < 0 || offset%sector != 0 || int64(len(p))%sector != 0:
		return 0, win32.ERROR_INVALID_PARAMETER
	case offset >= part.size:
		return 0, nil
	}
	return part.disk.image.ReadAt(p[:min(int64(len(p)), part.size-offset)], part.from+offset)
}

// put copies a structure of fixed size; a buffer that is too small gets nothing.
func put(out, b []byte) (int, error) {
	if len(out) < len(b) {
		return 0, win32.ERROR_INSUFFICIENT_BUFFER
	}
	return copy(out, b), nil
}

// headerBytes is the size of the header with which structures of variable size begin.
const headerBytes = 8

// putOrHeader copies a structure of variable size, or only its header if it does not fit.
func putOrHeader(out, b []byte) (int, error) {
	switch {
	case len(out) < headerBytes:
		return 0, win32.ERROR_INSUFFICIENT_BUFFER
	case len(out) < len(b):
		return copy(out, b[:headerBytes]), win32.ERROR_MORE_DATA
	}
	return copy(out, b), nil
}

// given applies what an input buffer holds; for a malformed one it returns the code.
func given[T any](in []byte, parse func([]byte) (T, error), malformed win32.Errno, apply func(T) error) error {
	value, err := parse(in)
	if err != nil {
		return malformed
	}
	return apply(value)
}

// adapter is a storage adapter.
type adapter scenario.Adapter

// adapters returns the storage adapters by number: those of the scenario, and those that disks are attached to.
func (n *Node) adapters() (all []adapter) {
	for _, a := range n.state.Adapters {
		all = append(all, adapter{a.Number, cmp.Or(a.BusType, win32.BusTypeScsi)})
	}
	for _, d := range n.disks.list() {
		all = append(all, adapter{d.record.Adapter, d.record.BusType})
	}
	slices.SortStableFunc(all, func(a, b adapter) int { return cmp.Compare(a.Number, b.Number) })
	return slices.CompactFunc(all, func(a, b adapter) bool { return a.Number == b.Number })
}

// interfacePath returns the device interface path of the adapter (GUID_DEVINTERFACE_STORAGEPORT).
func (a adapter) interfacePath() string {
	return fmt.Sprintf(`\\?\pci#ven_emulated&dev_adapter#%d#{2accfe60-c130-11d2-b082-00a0c91efb8b}`, a.Number)
}

// answer answers a control code to an adapter.
func (a adapter) answer(code uint32, in, out []byte) (int, error) {
	if code != win32.IOCTL_STORAGE_QUERY_PROPERTY {
		return 0, win32.ERROR_INVALID_FUNCTION
	}
	query, err := deviceside.ParseStoragePropertyQuery(in)
	if err != nil {
		return 0, win32.ERROR_INVALID_PARAMETER
	}
	if query.PropertyID != win32.StorageAdapterProperty {
		return 0, win32.ERROR_INVALID_FUNCTION
	}
	return copy(out, deviceside.StorageAdapter(win32.StorageAdapter{BusType: uint8(a.BusType)})), nil
}
