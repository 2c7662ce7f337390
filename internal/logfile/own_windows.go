// SPDX-License-Identifier: Apache-2.0

package logfile

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// notFollowing makes CreateFileW open a reparse point itself. os.OpenFile passes the flag on and, for appending, asks
// for FILE_APPEND_DATA without FILE_WRITE_DATA.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-createfilew
const notFollowing = windows.O_FILE_FLAG_OPEN_REPARSE_POINT

// identify calls GetFileInformationByHandle. It checks the attribute because Go's mode takes some reparse points, such
// as those of deduplication, for regular files, and such a file must not be written past its filter.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getfileinformationbyhandle
func identify(file *os.File, _ fs.FileInfo) (names uint64, reparse bool, err error) {
	conn, err := file.SyscallConn()
	if err != nil {
		return 0, false, err
	}
	var information windows.ByHandleFileInformation
	var failed error
	err = conn.Control(func(handle uintptr) {
		failed = windows.GetFileInformationByHandle(windows.Handle(handle), &information)
	})
	if err == nil && failed != nil {
		err = &fs.PathError{Op: "GetFileInformationByHandle", Path: file.Name(), Err: failed}
	}
	return uint64(information.NumberOfLinks), information.FileAttributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0, err
}
