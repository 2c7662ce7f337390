// SPDX-License-Identifier: Apache-2.0

package plainfile

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// withoutWaiting makes CreateFileW open a reparse point itself. No open of a pipe waits here.
const withoutWaiting = windows.O_FILE_FLAG_OPEN_REPARSE_POINT

// isRegular also looks at the attribute, because Go takes some reparse points, such as those of deduplication, for
// regular files. Past its filter, such a file has other content.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getfileinformationbyhandle
func isRegular(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false, err
	}
	var information windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &information); err != nil {
		return false, &fs.PathError{Op: "GetFileInformationByHandle", Path: f.Name(), Err: err}
	}
	return information.FileAttributes&windows.FILE_ATTRIBUTE_REPARSE_POINT == 0, nil
}
