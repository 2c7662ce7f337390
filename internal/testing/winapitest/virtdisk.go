// SPDX-License-Identifier: Apache-2.0

//go:build windows

package winapitest

// ResizeParameters is RESIZE_VIRTUAL_DISK_PARAMETERS of version 1.
//
// https://learn.microsoft.com/windows/win32/api/virtdisk/ns-virtdisk-resize_virtual_disk_parameters
type ResizeParameters struct {
	Version uint32 // 1
	_       [4]byte
	NewSize uint64 // bytes
}

// ResizeVirtualDisk changes the size of a virtual disk. It returns the status itself, a Win32 code.
//
// https://learn.microsoft.com/windows/win32/api/virtdisk/nf-virtdisk-resizevirtualdisk
//
//sys	ResizeVirtualDisk(disk windows.Handle, flags uint32, parameters *ResizeParameters, overlapped *windows.Overlapped) (status uint32) = virtdisk.ResizeVirtualDisk
