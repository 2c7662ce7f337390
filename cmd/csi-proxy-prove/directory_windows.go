// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/fileowner"
)

// baseDirectory returns the place of the kit's files. It does not ask the environment, which anybody could have set.
func baseDirectory() string {
	data, err := windows.KnownFolderPath(windows.FOLDERID_ProgramData, windows.KF_FLAG_DEFAULT)
	if err != nil {
		data = `C:\ProgramData`
	}
	return filepath.Join(data, "csi-proxy-prove")
}

// baseSDDL gives only SYSTEM and Administrators access: a reader could open a file without sharing and block its
// removal. A share below has its own list; its user passes the directories above by SeChangeNotifyPrivilege, which all
// users have. The owner is set, because a new directory may belong to the administrator's own account, which also
// runs without elevation.
const baseSDDL = "O:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"

func makeBase(path string) error { return makeDirectory(path, baseSDDL) }

// makeDirectory calls CreateDirectoryW with a descriptor.
func makeDirectory(path, sddl string) error {
	descriptor, err := windows.SecurityDescriptorFromString(sddl)
	if err != nil {
		return err
	}
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	attributes := &windows.SecurityAttributes{SecurityDescriptor: descriptor}
	attributes.Length = uint32(unsafe.Sizeof(*attributes))
	if err := windows.CreateDirectory(name, attributes); err != nil {
		return &os.PathError{Op: "CreateDirectory", Path: path, Err: err}
	}
	return nil
}

// secure gives a directory that was there already, and all that is in it, the access list of one that the kit makes.
// https://learn.microsoft.com/windows/win32/api/aclapi/nf-aclapi-setnamedsecurityinfow
func secure(path string) error {
	descriptor, err := windows.SecurityDescriptorFromString(baseSDDL)
	if err != nil {
		return err
	}
	list, _, err := descriptor.DACL()
	if err != nil {
		return err
	}
	err = windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT,
		windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, list, nil)
	if err != nil {
		return &os.PathError{Op: "SetNamedSecurityInfo", Path: path, Err: err}
	}
	return nil
}

// writers returns the accounts besides administrators that may change a directory. Under Wine every file belongs to the
// host's user.
func writers(path string) ([]string, error) {
	if wineVersion() == "" {
		return fileowner.Writers(path)
	}
	return fileowner.Others(path)
}

// lock opens a file without sharing.
func lock(base string) (unlock func(), err error) {
	name, err := windows.UTF16PtrFromString(lockOf(base))
	if err != nil {
		return nil, err
	}
	h, err := windows.CreateFile(name, windows.GENERIC_WRITE, 0, nil, windows.OPEN_ALWAYS,
		windows.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
		return nil, errLocked
	}
	if err != nil {
		return nil, &os.PathError{Op: "CreateFile", Path: lockOf(base), Err: err}
	}
	return sync.OnceFunc(func() { _ = windows.CloseHandle(h) }), nil
}
