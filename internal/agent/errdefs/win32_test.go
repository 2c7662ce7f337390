// SPDX-License-Identifier: Apache-2.0

package errdefs

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func TestClassOfISCSI(t *testing.T) {
	for code, want := range map[win32.Errno]Class{
		win32.ISDSC_CONNECTION_FAILED: Unavailable, win32.ISDSC_TRANSPORT_ERROR: Unavailable,
		win32.ISDSC_DNS_NAME_UNRESOLVED:     Unavailable,
		win32.ISDSC_NO_CONNECTION_AVAILABLE: Unavailable, win32.ISDSC_SERVICE_DID_NOT_RESPOND: Unavailable,
		win32.RPC_S_SERVER_UNAVAILABLE: Unavailable, win32.EPT_S_NOT_REGISTERED: Unavailable,
		win32.ISDSC_SESSION_BUSY:           Unavailable,
		win32.ISDSC_AUTHENTICATION_FAILURE: Unauthenticated, win32.ISDSC_AUTHORIZATION_FAILURE: Unauthenticated,
		win32.ISDSC_LOGON_FAILED: Unauthenticated, win32.ISDSC_LOGIN_USER_INFO_BAD: Unauthenticated,
		win32.ISDSC_NOT_FOUND: NotFound, win32.ISDSC_TARGET_NOT_FOUND: NotFound, win32.ISDSC_PORTAL_NOT_FOUND: NotFound,
		win32.ISDSC_DEVICE_BUSY_ON_SESSION: FailedPrecondition, win32.ISDSC_SERVICE_NOT_RUNNING: FailedPrecondition,
		win32.ISDSC_RESTRICTED_BY_GROUP_POLICY: FailedPrecondition,
		win32.ISDSC_INVALID_CHAP_SECRET:        InvalidArgument, win32.ISDSC_INVALID_TARGET_CHAP_SECRET: InvalidArgument,
		win32.ISDSC_INVALID_INITIATOR_CHAP_SECRET: InvalidArgument, win32.ISDSC_INVALID_CHAP_USER_NAME: InvalidArgument,
		win32.ISDSC_INVALID_LOGON_AUTH_TYPE: InvalidArgument, win32.ISDSC_INVALID_ISCSI_NAME: InvalidArgument,
		win32.ISDSC_INVALID_PARAMETER:        InvalidArgument,
		win32.ISDSC_TARGET_MOVED_TEMPORARILY: Unavailable,
		win32.ISDSC_TARGET_REMOVED:           NotFound, win32.ISDSC_TOO_MANY_SESSIONS: ResourceExhausted,
		win32.ISDSC_LOGIN_FAILED: Internal, win32.ISDSC_TARGET_ERROR: Internal,
	} {
		if got := classOf(code); got != want {
			t.Errorf("%v: class %d, want %d", code, got, want)
		}
	}
}
