// SPDX-License-Identifier: Apache-2.0

package plainfile

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// withoutWaiting makes CreateFileW open a reparse point itself. No open of a pipe waits here.
const withoutWaiting = windows.O_FILE_FLAG_OPEN_REPARSE_POINT

// isRegular also looks at the attribute: Go takes some reparse points, as those of deduplication, for regular files.
func isRegular(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false, err
	}
	information, err := informationOf(f)
	return err == nil && information.FileAttributes&windows.FILE_ATTRIBUTE_REPARSE_POINT == 0, err
}

// Names returns how many names, hard links, an open file has.
func Names(f *os.File) (uint64, error) {
	information, err := informationOf(f)
	return uint64(information.NumberOfLinks), err
}

// informationOf calls GetFileInformationByHandle.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getfileinformationbyhandle
func informationOf(f *os.File) (information windows.ByHandleFileInformation, err error) {
	if err = windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &information); err != nil {
		err = &fs.PathError{Op: "GetFileInformationByHandle", Path: f.Name(), Err: err}
	}
	return information, err
}
