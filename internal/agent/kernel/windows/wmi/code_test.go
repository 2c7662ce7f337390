// SPDX-License-Identifier: Apache-2.0

package wmi

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func TestCode(t *testing.T) {
	for result, want := range map[uint32]win32.Errno{
		53: win32.ERROR_BAD_NETPATH, 0x80070035: win32.ERROR_BAD_NETPATH, 0x800704C3: win32.ERROR_SESSION_CREDENTIAL_CONFLICT,
		0x8007052E: win32.ERROR_LOGON_FAILURE, 0x80041002: win32.ERROR_NOT_FOUND, 0x80041003: win32.ERROR_ACCESS_DENIED,
		0x80041010: win32.ERROR_NOT_SUPPORTED, 0x8004100E: win32.ERROR_NOT_SUPPORTED, 0x80020009: 0x80020009,
		0x80010108: win32.RPC_S_SERVER_UNAVAILABLE, 0x80041033: win32.RPC_S_SERVER_UNAVAILABLE,
		0x800706BE: win32.RPC_S_SERVER_UNAVAILABLE,
		0x80010001: win32.ERROR_BUSY, 0x8001010A: win32.ERROR_BUSY, 0x800706BB: win32.ERROR_BUSY,
		0x80041045: win32.ERROR_BUSY,
		0x80041069: win32.ERROR_TIMEOUT, 0x80043001: win32.ERROR_TIMEOUT,
	} {
		if got := Code(result); got != want {
			t.Errorf("Code(%#x): got %v, want %v", result, got, want)
		}
	}
}

func TestDisconnected(t *testing.T) {
	for result, want := range map[uint32]bool{0x800706BA: true, 0x80010108: true, 0x80070005: false, 0: false} {
		if got := disconnected(result); got != want {
			t.Errorf("disconnected(%#x): got %t, want %t", result, got, want)
		}
	}
}
