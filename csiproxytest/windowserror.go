// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import "github.com/kubernetes-csi/csi-proxy/internal/agent/win32"

// A WindowsError is an error code of Windows, for Fail and FailAfter: a constant, or a number that has none here.
// https://learn.microsoft.com/windows/win32/debug/system-error-codes
type WindowsError uint32

// What storage calls fail with, by the names in winerror.h. The first ones say that what was there is gone.
const (
	ERROR_FILE_NOT_FOUND       WindowsError = WindowsError(win32.ERROR_FILE_NOT_FOUND)
	ERROR_PATH_NOT_FOUND       WindowsError = WindowsError(win32.ERROR_PATH_NOT_FOUND)
	ERROR_DEVICE_NOT_CONNECTED WindowsError = WindowsError(win32.ERROR_DEVICE_NOT_CONNECTED)
	ERROR_NO_SUCH_DEVICE       WindowsError = WindowsError(win32.ERROR_NO_SUCH_DEVICE)

	// Time may help.

	ERROR_NOT_READY           WindowsError = WindowsError(win32.ERROR_NOT_READY)
	ERROR_BUSY                WindowsError = WindowsError(win32.ERROR_BUSY)
	ERROR_SHARING_VIOLATION   WindowsError = WindowsError(win32.ERROR_SHARING_VIOLATION)
	ERROR_SEM_TIMEOUT         WindowsError = WindowsError(win32.ERROR_SEM_TIMEOUT)
	ERROR_NO_SYSTEM_RESOURCES WindowsError = WindowsError(win32.ERROR_NO_SYSTEM_RESOURCES)

	// A disk or a file system is broken, full, or not to be written.

	ERROR_ACCESS_DENIED       WindowsError = WindowsError(win32.ERROR_ACCESS_DENIED)
	ERROR_CRC                 WindowsError = WindowsError(win32.ERROR_CRC)
	ERROR_DISK_CORRUPT        WindowsError = WindowsError(win32.ERROR_DISK_CORRUPT)
	ERROR_DISK_FULL           WindowsError = WindowsError(win32.ERROR_DISK_FULL)
	ERROR_FILE_CORRUPT        WindowsError = WindowsError(win32.ERROR_FILE_CORRUPT)
	ERROR_IO_DEVICE           WindowsError = WindowsError(win32.ERROR_IO_DEVICE)
	ERROR_UNRECOGNIZED_VOLUME WindowsError = WindowsError(win32.ERROR_UNRECOGNIZED_VOLUME)
	ERROR_WRITE_PROTECT       WindowsError = WindowsError(win32.ERROR_WRITE_PROTECT)

	// A file server refuses, or does not answer.

	ERROR_BAD_NETPATH                 WindowsError = WindowsError(win32.ERROR_BAD_NETPATH)
	ERROR_BAD_NET_NAME                WindowsError = WindowsError(win32.ERROR_BAD_NET_NAME)
	ERROR_LOGON_FAILURE               WindowsError = WindowsError(win32.ERROR_LOGON_FAILURE)
	ERROR_NETNAME_DELETED             WindowsError = WindowsError(win32.ERROR_NETNAME_DELETED)
	ERROR_SESSION_CREDENTIAL_CONFLICT WindowsError = WindowsError(win32.ERROR_SESSION_CREDENTIAL_CONFLICT)
)
