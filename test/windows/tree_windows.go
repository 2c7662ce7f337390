// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/windows"
)

// RemoveTree removes a directory with all that is in it, through handles: no link in it is followed, and mount points
// are unmounted. The mark is the identity of the directory that is meant, whatever the path leads to now; "" is for one
// below a directory that only administrators may change. A missing one is success.
func RemoveTree(ctx context.Context, dir, mark string) error {
	// While it is open for reading and not shared for deletion, neither it nor a directory above can be renamed.
	h, err := openPlain(dir, windows.FILE_LIST_DIRECTORY, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, mark)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = emptyTree(ctx, nativeKernel(), filepath.Dir(dir), dir)
	_ = windows.CloseHandle(h)
	if err != nil {
		return err
	}
	return removeEmpty(dir, mark)
}

// removeEmpty removes an empty directory by its handle.
// https://learn.microsoft.com/windows/win32/api/winbase/ns-winbase-file_disposition_info
func removeEmpty(dir, mark string) error {
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := openPlain(dir, windows.DELETE, share, mark)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	remove := byte(1)
	if err := windows.SetFileInformationByHandle(h, windows.FileDispositionInfo, &remove,
		uint32(unsafe.Sizeof(remove))); err != nil {
		return &os.PathError{Op: "SetFileInformationByHandle", Path: dir, Err: err}
	}
	return nil
}

// openPlain opens a directory. It refuses a link, and any directory but the one that is meant.
func openPlain(dir string, access, share uint32, mark string) (windows.Handle, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	h, err := windows.CreateFile(name, access|windows.FILE_READ_ATTRIBUTES, share, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return 0, &os.PathError{Op: "CreateFile", Path: dir, Err: err}
	}
	is, err := identityOf(h, dir)
	if err == nil && mark != "" && is != mark {
		err = NotOurs("another directory took its place")
	}
	if err != nil {
		_ = windows.CloseHandle(h)
		return 0, err
	}
	return h, nil
}
