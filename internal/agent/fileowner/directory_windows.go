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

// tighten makes the directory private if its list is such a one, and the files in it that were made under the readable
// list: by their full paths, others can open them in a directory that is closed to them.
func tighten(path string, such func(win32.AccessList) bool) error {
	tightened, err := tightenOne(path, true, such)
	if err != nil || !tightened {
		return err
	}
	files, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, file := range files {
		if file.Type().IsRegular() {
			if _, err := tightenOne(filepath.Join(path, file.Name()), false, inReadable); err != nil {
				return err
			}
		}
	}
	return nil
}

// tightenOne looks and acts through one handle, so that no link can be put in the object's place between. It reports
// whether the object is private now.
// https://learn.microsoft.com/windows/win32/api/aclapi/nf-aclapi-setsecurityinfo
func tightenOne(path string, directory bool, such func(win32.AccessList) bool) (tightened bool, err error) {
	name, err := windows.UTF16PtrFromString(filepath.Clean(path))
	if err != nil {
		return false, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	handle, err := windows.CreateFile(name, windows.READ_CONTROL|windows.WRITE_DAC|windows.FILE_READ_ATTRIBUTES,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, &fs.PathError{Op: "CreateFile", Path: path, Err: err}
	}
	defer func() { _ = windows.CloseHandle(handle) }()
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(handle, &info); err != nil {
		return false, &fs.PathError{Op: "GetFileInformationByHandle", Path: path, Err: err}
	}
	if info.FileAttributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0 ||
		directory != (info.FileAttributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0) {
		return false, nil
	}
	descriptor, err := windows.GetSecurityInfo(handle, windows.SE_FILE_OBJECT,
		windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return false, &fs.PathError{Op: "GetSecurityInfo", Path: path, Err: err}
	}
	owner, list, err := parsed(path, descriptor)
	if err != nil || !ours(owner) || !such(list) {
		return false, err
	}
	dacl, _, err := descriptorOf(private).DACL()
	if err == nil {
		err = windows.SetSecurityInfo(handle, windows.SE_FILE_OBJECT,
			windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, dacl, nil)
	}
	if err != nil {
		return false, &fs.PathError{Op: "SetSecurityInfo", Path: path, Err: err}
	}
	return true, nil
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
