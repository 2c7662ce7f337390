// SPDX-License-Identifier: Apache-2.0

package hostfiles

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func isDiskFull(err error) bool    { return errors.Is(err, windows.ERROR_DISK_FULL) }
func isNameTooLong(err error) bool { return errors.Is(err, windows.ERROR_INVALID_NAME) }
func isNotEmpty(err error) bool    { return errors.Is(err, windows.ERROR_DIR_NOT_EMPTY) }

// withoutWaiting is nothing here: files of the host's file systems are not pipes.
const withoutWaiting = 0

// lockOffset is a byte past the end of the lock file, so that others can still read its text.
const lockOffset = 1 << 30

// lockFile takes a lock that ends with the process; held is true if another process has it.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-lockfileex
func lockFile(f *os.File) (held bool, err error) {
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{Offset: lockOffset})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return true, nil
	}
	return false, err
}

// renameAt moves a name from one open directory to another.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_file_rename_information
func renameAt(source *os.File, from string, target *os.File, to string) error {
	name, err := windows.NewNTUnicodeString(from)
	if err != nil {
		return err
	}
	attributes := windows.OBJECT_ATTRIBUTES{RootDirectory: windows.Handle(source.Fd()), ObjectName: name}
	attributes.Length = uint32(unsafe.Sizeof(attributes))
	var (
		h      windows.Handle
		status windows.IO_STATUS_BLOCK
	)
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	err = windows.NtCreateFile(&h, windows.DELETE|windows.SYNCHRONIZE, &attributes, &status, nil, 0,
		share, windows.FILE_OPEN,
		windows.FILE_OPEN_REPARSE_POINT|windows.FILE_OPEN_FOR_BACKUP_INTENT|windows.FILE_SYNCHRONOUS_IO_NONALERT, 0, 0)
	if err == nil {
		in := win32.FileRename{RootDirectory: uint64(target.Fd()), Name: to}.Bytes()
		err = windows.NtSetInformationFile(h, &status, &in[0], uint32(len(in)), windows.FileRenameInformation)
		_ = windows.CloseHandle(h) // nothing is lost: it holds no data
	}
	var refused windows.NTStatus
	if errors.As(err, &refused) {
		return refused.Errno()
	}
	return err
}

// MarkSparse declares that the file may have holes. A file system without sparse files refuses; the file then takes its
// whole size, which is not an error.
// https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_set_sparse
func MarkSparse(f *os.File) {
	var n uint32
	_ = windows.DeviceIoControl(windows.Handle(f.Fd()), windows.FSCTL_SET_SPARSE, nil, 0, nil, 0, &n, nil)
}

// NextData returns the next extent of a file that may have data. At its end both are the same. A file system that does
// not tell, as under Wine, has data everywhere.
// https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_query_allocated_ranges
func NextData(f *os.File, from, size int64) (at, end int64, err error) {
	if from >= size {
		return size, size, nil
	}
	type allocatedRange struct{ offset, length int64 } // FILE_ALLOCATED_RANGE_BUFFER
	const bytes = uint32(unsafe.Sizeof(allocatedRange{}))
	asked, first, n := allocatedRange{from, size - from}, allocatedRange{}, uint32(0)
	err = windows.DeviceIoControl(windows.Handle(f.Fd()), windows.FSCTL_QUERY_ALLOCATED_RANGES,
		(*byte)(unsafe.Pointer(&asked)), bytes, (*byte)(unsafe.Pointer(&first)), bytes, &n, nil)
	switch {
	case err == nil && n == 0: // only a hole follows
		return size, size, nil
	case n == bytes && (err == nil || errors.Is(err, windows.ERROR_MORE_DATA)): // whole clusters; there may be more ranges
		return max(first.offset, from), min(first.offset+first.length, size), nil
	}
	return from, size, nil
}
