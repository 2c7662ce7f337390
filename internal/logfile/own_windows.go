// SPDX-License-Identifier: Apache-2.0

package logfile

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// namesOf calls GetFileInformationByHandle.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getfileinformationbyhandle
func namesOf(file *os.File, _ fs.FileInfo) (uint64, error) {
	var information windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(file.Fd()), &information); err != nil {
		return 0, &fs.PathError{Op: "GetFileInformationByHandle", Path: file.Name(), Err: err}
	}
	return uint64(information.NumberOfLinks), nil
}
