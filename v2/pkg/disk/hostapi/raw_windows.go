// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// The methods of this file take handles and device paths of the machine that the process runs on; these exist only on
// Windows. With an agent, or another client than that of an inprocess.Node, they fail with errors.ErrUnsupported in the
// error: what a container opens may be a disk of another number on the node, or none of it.

// GetDiskNumber returns the number of the disk that a handle is open on.
// https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-ioctl_storage_get_device_number
func (d DiskAPI) GetDiskNumber(disk syscall.Handle) (uint32, error) {
	if err := d.here(); err != nil {
		return 0, err
	}
	out := make([]byte, 12)
	var n uint32
	err := syscall.DeviceIoControl(disk, win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, 0, &out[0], uint32(len(out)), &n, nil)
	if err != nil {
		return 0, fmt.Errorf("asking for the number of a disk: %w", err)
	}
	number, err := win32.ParseStorageDeviceNumber(out[:n])
	return number.DeviceNumber, err
}

// GetDiskPage83ID returns the page 83 identifier, as in ListDiskIDs, of the disk that a handle is open on.
func (d DiskAPI) GetDiskPage83ID(disk syscall.Handle) (string, error) {
	number, err := d.GetDiskNumber(disk)
	if err != nil {
		return "", err
	}
	all, err := d.ListDiskIDs()
	return all[number].Page83, err
}

// GetDiskNumberAndPage83ID returns the number and the page 83 identifier of a disk by its device path, such as
// \\.\PhysicalDrive1 or the path of its device interface.
func (d DiskAPI) GetDiskNumberAndPage83ID(path string) (uint32, string, error) {
	if err := d.here(); err != nil {
		return 0, "", err
	}
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return 0, "", &os.PathError{Op: "CreateFile", Path: path, Err: err}
	}
	disk, err := syscall.CreateFile(name, 0, syscall.FILE_SHARE_READ|syscall.FILE_SHARE_WRITE, nil,
		syscall.OPEN_EXISTING, 0, 0)
	if err != nil {
		return 0, "", &os.PathError{Op: "CreateFile", Path: path, Err: err}
	}
	defer func() { _ = syscall.CloseHandle(disk) }()
	number, err := d.GetDiskNumber(disk)
	if err != nil {
		return 0, "", err
	}
	id, err := d.GetDiskPage83ID(disk)
	return number, id, err
}

// here returns an error unless the disks are those of the machine that the process runs on.
func (d DiskAPI) here() error {
	_, node, err := d.at.Node()
	if err == nil && node == nil {
		err = fmt.Errorf("%w: handles and device paths are of the machine that the driver runs on, which an agent or the "+
			"client given to FromClient need not reach; ListDiskIDs lists the disks there", errors.ErrUnsupported)
	}
	return err
}
