// SPDX-License-Identifier: Apache-2.0

package fileowner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// directorySDDL gives SYSTEM and Administrators full access and Users read access, and inherits nothing from above.
const directorySDDL = "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FRFX;;;BU)"

// MakeDirectory makes a directory for logs and other records, with its missing parents. Only SYSTEM and administrators
// may write to those that it makes, and users may read: by default anyone may add files below a new directory of C:\,
// and a link put there would make the agent write as SYSTEM where it leads. A directory that exists stays as it is.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-createdirectoryw
func MakeDirectory(path string) error {
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
	descriptor, err := windows.SecurityDescriptorFromString(directorySDDL)
	if err != nil {
		return &fs.PathError{Op: "ConvertStringSecurityDescriptorToSecurityDescriptor", Path: directorySDDL, Err: err}
	}
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return &fs.PathError{Op: "mkdir", Path: path, Err: err}
	}
	attributes := &windows.SecurityAttributes{SecurityDescriptor: descriptor}
	attributes.Length = uint32(unsafe.Sizeof(*attributes))
	if err := windows.CreateDirectory(name, attributes); err != nil && !errors.Is(err, windows.ERROR_ALREADY_EXISTS) {
		return &fs.PathError{Op: "CreateDirectory", Path: path, Err: err}
	}
	return nil
}
