// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"errors"
	"strings"
	"syscall"
	"unicode/utf16"

	"golang.org/x/sys/windows"
)

// VolumeNames calls FindFirstVolumeW and FindNextVolumeW.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-findfirstvolumew
func (Kernel) VolumeNames() ([]string, error) {
	var name [windows.MAX_PATH + 1]uint16
	find, err := windows.FindFirstVolume(&name[0], uint32(len(name)))
	if errors.Is(err, windows.ERROR_NO_MORE_FILES) {
		return nil, nil
	}
	if err != nil {
		return nil, failure("FindFirstVolumeW", "", err)
	}
	defer func() { _ = windows.FindVolumeClose(find) }() // nothing was written through it

	names := []string{windows.UTF16ToString(name[:])}
	for {
		switch err := windows.FindNextVolume(find, &name[0], uint32(len(name))); {
		case errors.Is(err, windows.ERROR_NO_MORE_FILES):
			return names, nil
		case err != nil:
			return nil, failure("FindNextVolumeW", "", err)
		}
		names = append(names, windows.UTF16ToString(name[:]))
	}
}

// VolumePathNames calls GetVolumePathNamesForVolumeNameW with a buffer of the length that it asks for.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getvolumepathnamesforvolumenamew
func (Kernel) VolumePathNames(volumeName string) ([]string, error) {
	const function = "GetVolumePathNamesForVolumeNameW"
	name, err := wide(function, volumeName)
	if err != nil {
		return nil, err
	}
	b, err := filled(function, volumeName, bytesOfUnit, func(n *uint32, buffer *byte) error {
		return windows.GetVolumePathNamesForVolumeName(name, characters(buffer), *n, n)
	})
	return multiStrings(units(b)), err
}

// VolumeNameForMountPoint calls GetVolumeNameForVolumeMountPointW.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getvolumenameforvolumemountpointw
func (Kernel) VolumeNameForMountPoint(mountPoint string) (string, error) {
	var name [windows.MAX_PATH + 1]uint16
	err := callAt("GetVolumeNameForVolumeMountPointW", plainPath(mountPoint), func(path *uint16) error {
		return windows.GetVolumeNameForVolumeMountPoint(path, &name[0], uint32(len(name)))
	})
	return windows.UTF16ToString(name[:]), err
}

// SetVolumeMountPoint calls SetVolumeMountPointW.
// https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-setvolumemountpointw
func (Kernel) SetVolumeMountPoint(mountPoint, volumeName string) error {
	const function = "SetVolumeMountPointW"
	name, err := wide(function, volumeName)
	if err != nil {
		return err
	}
	return callAt(function, plainPath(mountPoint),
		func(path *uint16) error { return windows.SetVolumeMountPoint(path, name) })
}

// DeleteVolumeMountPoint calls DeleteVolumeMountPointW.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-deletevolumemountpointw
func (Kernel) DeleteVolumeMountPoint(mountPoint string) error {
	return callAt("DeleteVolumeMountPointW", plainPath(mountPoint), windows.DeleteVolumeMountPoint)
}

// plainPath removes the prefix from \\?\X:\…\ if Win32 reads the same path without it: the pages of the mount point
// functions document only the plain form. A path that does not fit in MAX_PATH with its NUL keeps the prefix.
// https://learn.microsoft.com/windows/win32/fileio/naming-a-file
func plainPath(path string) string {
	plain, ok := strings.CutPrefix(path, win32Prefix)
	if !ok || len(plain) < 3 || plain[1:3] != `:\` || len(utf16.Encode([]rune(plain))) >= windows.MAX_PATH {
		return path
	}
	// Names that only the prefix allows, such as one that ends with a dot, would turn into others.
	if full, err := syscall.FullPath(plain); err != nil || full != plain {
		return path
	}
	return plain
}

// VolumeInformation calls GetVolumeInformationW.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getvolumeinformationw
func (Kernel) VolumeInformation(root string) (fileSystem string, err error) {
	var name [windows.MAX_PATH + 1]uint16
	err = callAt("GetVolumeInformationW", root, func(path *uint16) error {
		return windows.GetVolumeInformation(path, nil, 0, nil, nil, nil, &name[0], uint32(len(name)))
	})
	return windows.UTF16ToString(name[:]), err
}

// DiskFreeSpace calls GetDiskFreeSpaceExW.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getdiskfreespaceexw
func (Kernel) DiskFreeSpace(root string) (total, free uint64, err error) {
	var quota uint64 // the space that the caller may use; not needed
	err = callAt("GetDiskFreeSpaceExW", root, func(path *uint16) error {
		return windows.GetDiskFreeSpaceEx(path, &quota, &total, &free)
	})
	return total, free, err
}
