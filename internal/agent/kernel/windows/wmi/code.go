// SPDX-License-Identifier: Apache-2.0

package wmi

import "github.com/kubernetes-csi/csi-proxy/internal/agent/win32"

// wbemNotFound is WBEM_E_NOT_FOUND.
const wbemNotFound = 0x80041002

// Code returns the Win32 code of an HRESULT, perhaps WMI's. Others, and Win32 codes themselves, stay unchanged.
// https://learn.microsoft.com/windows/win32/wmisdk/wmi-error-constants
func Code(result uint32) win32.Errno {
	const (
		facilityMask  = 0xFFFF0000
		facilityWin32 = 0x80070000

		wbemFailed           = 0x80041001
		wbemAccessDenied     = 0x80041003
		wbemOutOfMemory      = 0x80041006
		wbemInvalidParameter = 0x80041008
		wbemNotSupported     = 0x8004100C
		wbemInvalidNamespace = 0x8004100E
		wbemInvalidClass     = 0x80041010
		wbemTimedOut         = 0x80041069
		wbemErrTimedout      = 0x80043001 // of the scripting objects
	)
	switch {
	case disconnected(result):
		return win32.RPC_S_SERVER_UNAVAILABLE
	case rejected(result):
		return win32.ERROR_BUSY
	case result&facilityMask == facilityWin32:
		return win32.Errno(result &^ facilityMask)
	case result == wbemFailed:
		return win32.ERROR_GEN_FAILURE
	case result == wbemNotFound:
		return win32.ERROR_NOT_FOUND
	case result == wbemAccessDenied:
		return win32.ERROR_ACCESS_DENIED
	case result == wbemOutOfMemory:
		return win32.ERROR_OUTOFMEMORY
	case result == wbemInvalidParameter:
		return win32.ERROR_INVALID_PARAMETER
	case result == wbemNotSupported, result == wbemInvalidNamespace, result == wbemInvalidClass:
		return win32.ERROR_NOT_SUPPORTED // a Windows without the feature
	case result == wbemTimedOut, result == wbemErrTimedout:
		return win32.ERROR_TIMEOUT
	}
	return win32.Errno(result)
}

// disconnected reports whether a result means that the connection to WMI is dead but a new one may work.
// https://learn.microsoft.com/windows/win32/com/com-error-codes-1
func disconnected(result uint32) bool {
	switch result {
	case 0x80010007, // RPC_E_SERVER_DIED
		0x80010012, // RPC_E_SERVER_DIED_DNE
		0x80010108, // RPC_E_DISCONNECTED
		0x800401FD, // CO_E_OBJNOTCONNECTED
		0x800706BA, // RPC_S_SERVER_UNAVAILABLE
		0x800706BE, // RPC_S_CALL_FAILED
		0x800706BF, // RPC_S_CALL_FAILED_DNE
		0x80041015, // WBEM_E_TRANSPORT_FAILURE
		0x80041033: // WBEM_E_SHUTTING_DOWN
		return true
	}
	return false
}

// rejected reports whether a result means that the other side was too busy for the call, which it did not begin.
// https://learn.microsoft.com/windows/win32/com/com-error-codes-1
func rejected(result uint32) bool {
	switch result {
	case 0x80010001, // RPC_E_CALL_REJECTED
		0x8001010A, // RPC_E_SERVERCALL_RETRYLATER
		0x8001010B, // RPC_E_SERVERCALL_REJECTED
		0x800706BB, // RPC_S_SERVER_TOO_BUSY
		0x80041045: // WBEM_E_SERVER_TOO_BUSY
		return true
	}
	return false
}
