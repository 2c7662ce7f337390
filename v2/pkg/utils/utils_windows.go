// SPDX-License-Identifier: Apache-2.0

package utils

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

const (
	errorInvalidName = syscall.Errno(123)
	// https://learn.microsoft.com/windows/win32/fileio/reparse-point-tags
	ioReparseTagMountPoint = 0xA0000003
	ioReparseTagSymlink    = 0xA000000C
	// https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-createsymboliclinkw
	symbolicLinkFlagDirectory = 1
)

func isPathValid(path string) (bool, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return false, fmt.Errorf("invalid path: %w", err)
	}
	_, err = syscall.GetFileAttributes(name)
	if errors.Is(err, syscall.ERROR_PATH_NOT_FOUND) || errors.Is(err, syscall.ERROR_FILE_NOT_FOUND) ||
		errors.Is(err, errorInvalidName) {
		return false, nil
	}
	if err != nil {
		return false, &os.PathError{Op: "GetFileAttributes", Path: path, Err: err}
	}
	return true, nil
}

// The errors are bare codes, which drivers compare, and their texts.
// https://learn.microsoft.com/windows/win32/fileio/determining-whether-a-directory-is-a-volume-mount-point
func isMountedFolder(path string) (bool, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return false, fmt.Errorf("invalid path: %w", err)
	}
	attributes, err := syscall.GetFileAttributes(name)
	if err != nil || attributes&syscall.FILE_ATTRIBUTE_REPARSE_POINT == 0 {
		return false, err
	}
	var found syscall.Win32finddata
	search, err := syscall.FindFirstFile(name, &found)
	if err != nil {
		return false, err
	}
	return found.Reserved0 == ioReparseTagMountPoint || found.Reserved0 == ioReparseTagSymlink, syscall.FindClose(search)
}

func createSymlink(link, target string, isDir bool) error {
	linkName, err := syscall.UTF16PtrFromString(link)
	if err != nil {
		return err
	}
	targetName, err := syscall.UTF16PtrFromString(target)
	if err != nil {
		return err
	}
	var flags uint32
	if isDir {
		flags = symbolicLinkFlagDirectory
	}
	if err := syscall.CreateSymbolicLink(linkName, targetName, flags); err != nil {
		return &os.LinkError{Op: "CreateSymbolicLink", Old: target, New: link, Err: err}
	}
	return nil
}
