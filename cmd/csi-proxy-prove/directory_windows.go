// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/fileowner"
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

// makeBase calls CreateDirectoryW with that descriptor.
func makeBase(path string) error {
	descriptor, err := windows.SecurityDescriptorFromString(baseSDDL)
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

// writers returns the accounts besides administrators that may change a directory. Under Wine every file belongs to the
// host's user.
func writers(path string) ([]string, error) {
	if wineVersion() == "" {
		return fileowner.Writers(path)
	}
	return fileowner.Others(path)
}

// lock takes a mutex, which exists as long as a kit has its handle.
// https://learn.microsoft.com/windows/win32/api/synchapi/nf-synchapi-createmutexw
func lock(string) (unlock func(), err error) {
	name, err := windows.UTF16PtrFromString(`Global\csi-proxy-prove`)
	if err != nil {
		return nil, err
	}
	mutex, err := windows.CreateMutex(nil, false, name)
	unlock = func() { _ = windows.CloseHandle(mutex) }
	if errors.Is(err, windows.ERROR_ALREADY_EXISTS) {
		unlock()
		err = errLocked
	}
	return unlock, err
}
