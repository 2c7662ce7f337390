// SPDX-License-Identifier: Apache-2.0

package fileowner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-createdirectoryw
func makeDirectory(path string, list win32.AccessList) error {
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if parent := filepath.Dir(path); parent != path {
		if err := MakeDirectory(parent); err != nil {
			return err
		}
	}
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return &fs.PathError{Op: "mkdir", Path: path, Err: err}
	}
	attributes := &windows.SecurityAttributes{SecurityDescriptor: descriptorOf(list)}
	attributes.Length = uint32(unsafe.Sizeof(*attributes))
	if err := windows.CreateDirectory(name, attributes); err != nil && !errors.Is(err, windows.ERROR_ALREADY_EXISTS) {
		return &fs.PathError{Op: "CreateDirectory", Path: path, Err: err}
	}
	return nil
}

func descriptorOf(list win32.AccessList) *windows.SECURITY_DESCRIPTOR {
	return (*windows.SECURITY_DESCRIPTOR)(unsafe.Pointer(unsafe.SliceData(list.Bytes())))
}

// parsed returns the owner of an object and its access list.
func parsed(path string, descriptor *windows.SECURITY_DESCRIPTOR) (owner string, list win32.AccessList, err error) {
	sid, _, err := descriptor.Owner()
	if err != nil {
		return "", list, fmt.Errorf("GetSecurityDescriptorOwner %s: %w", path, err)
	}
	if sid == nil {
		return "", list, fmt.Errorf("GetSecurityDescriptorOwner %s: it has no owner", path)
	}
	list, err = win32.ParseAccessList(unsafe.Slice((*byte)(unsafe.Pointer(descriptor)), descriptor.Length()))
	if err != nil {
		return "", list, fmt.Errorf("the access list of %s: %w", path, err)
	}
	return sid.String(), list, nil
}
