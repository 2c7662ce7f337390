// SPDX-License-Identifier: Apache-2.0

package node

import (
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// classOf returns the class of a Win32 code for which the operation knows no better one.
func classOf(code win32.Errno) Class {
	switch code {
	case win32.ERROR_FILE_NOT_FOUND, win32.ERROR_PATH_NOT_FOUND, win32.ERROR_NOT_FOUND, win32.ERROR_SERVICE_DOES_NOT_EXIST:
		return NotFound
	case win32.ERROR_ACCESS_DENIED, win32.ERROR_NETWORK_ACCESS_DENIED, win32.ERROR_PRIVILEGE_NOT_HELD:
		return PermissionDenied
	case win32.ERROR_INVALID_FUNCTION, win32.ERROR_NOT_SUPPORTED, win32.ERROR_CALL_NOT_IMPLEMENTED:
		return Unsupported
	case win32.ERROR_WRITE_PROTECT, win32.ERROR_DIR_NOT_EMPTY, win32.ERROR_UNRECOGNIZED_VOLUME,
		win32.ERROR_SERVICE_DISABLED,
		win32.ERROR_SERVICE_NOT_ACTIVE, win32.ERROR_SESSION_CREDENTIAL_CONFLICT, win32.ERROR_NOT_A_REPARSE_POINT,
		win32.ERROR_CANT_ACCESS_FILE, win32.ERROR_CANT_RESOLVE_FILENAME, win32.ERROR_DISK_CORRUPT, win32.ERROR_FILE_CORRUPT:
		return FailedPrecondition
	case win32.ERROR_NOT_READY, win32.ERROR_DEV_NOT_EXIST, win32.ERROR_NETNAME_DELETED, win32.ERROR_NO_SUCH_DEVICE,
		win32.ERROR_FILE_INVALID,
		win32.ERROR_IO_DEVICE, win32.ERROR_DEVICE_NOT_CONNECTED, win32.ERROR_HOST_UNREACHABLE, win32.ERROR_BAD_NETPATH,
		win32.ERROR_SHARING_VIOLATION, win32.ERROR_DELETE_PENDING, win32.ERROR_BUSY, win32.ERROR_OPEN_FILES,
		win32.ERROR_DEVICE_IN_USE,
		kernel.StorageCacheOutOfDate, kernel.StorageNotInCache, kernel.StorageDiskOffline:
		return Unavailable
	case win32.ERROR_CRC:
		return DataLoss
	case win32.ERROR_BAD_NET_NAME, win32.ERROR_INVALID_PARAMETER, win32.ERROR_INVALID_NAME, win32.ERROR_DIRECTORY:
		return InvalidArgument
	case win32.ERROR_ALREADY_ASSIGNED, win32.ERROR_ALREADY_EXISTS, win32.ERROR_FILE_EXISTS:
		return AlreadyExists
	case win32.ERROR_DISK_FULL:
		return ResourceExhausted
	case win32.ERROR_SEM_TIMEOUT, win32.ERROR_SERVICE_REQUEST_TIMEOUT, win32.ERROR_TIMEOUT:
		return DeadlineExceeded
	case win32.ERROR_INVALID_PASSWORD, win32.ERROR_LOGON_FAILURE, win32.ERROR_ACCOUNT_RESTRICTION,
		win32.ERROR_PASSWORD_EXPIRED,
		win32.ERROR_ACCOUNT_DISABLED, win32.ERROR_ACCOUNT_LOCKED_OUT:
		return Unauthenticated
	default:
		return classOfISCSI(code)
	}
}
