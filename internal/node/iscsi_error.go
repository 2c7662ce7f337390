// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// iscsiService is the Windows service for iSCSI.
const iscsiService = "MSiSCSI"

// classOfISCSI returns the class of a code of the iSCSI initiator service.
func classOfISCSI(code win32.Errno) Class {
	switch code {
	case win32.ISDSC_CONNECTION_FAILED, win32.ISDSC_SERVICE_UNAVAILABLE, win32.ISDSC_TRANSPORT_ERROR,
		win32.ISDSC_SERVICE_DID_NOT_RESPOND,
		win32.ISDSC_DNS_NAME_UNRESOLVED, win32.ISDSC_NO_CONNECTION_AVAILABLE, win32.ISDSC_SESSION_BUSY,
		win32.RPC_S_SERVER_UNAVAILABLE, win32.EPT_S_NOT_REGISTERED:
		return Unavailable
	case win32.ISDSC_AUTHENTICATION_FAILURE, win32.ISDSC_AUTHORIZATION_FAILURE, win32.ISDSC_LOGON_FAILED,
		win32.ISDSC_LOGIN_USER_INFO_BAD,
		win32.ISDSC_TARGET_AUTHINFO_UNAVAILABLE, win32.ISDSC_NO_AUTH_INFO_AVAILABLE:
		return Unauthenticated
	case win32.ISDSC_NOT_FOUND, win32.ISDSC_TARGET_NOT_FOUND, win32.ISDSC_PORTAL_NOT_FOUND:
		return NotFound
	case win32.ISDSC_DEVICE_BUSY_ON_SESSION, win32.ISDSC_SERVICE_NOT_RUNNING, win32.ISDSC_RESTRICTED_BY_GROUP_POLICY:
		return FailedPrecondition
	case win32.ISDSC_INVALID_CHAP_SECRET, win32.ISDSC_INVALID_TARGET_CHAP_SECRET,
		win32.ISDSC_INVALID_INITIATOR_CHAP_SECRET,
		win32.ISDSC_INVALID_CHAP_USER_NAME, win32.ISDSC_INVALID_LOGON_AUTH_TYPE, win32.ISDSC_INVALID_ISCSI_NAME,
		win32.ISDSC_INVALID_PARAMETER:
		return InvalidArgument
	default:
		return Internal
	}
}

// failISCSI is fail for calls of the initiator service; it names the service when that is not running.
func (o *op) failISCSI(err error, format string, args ...any) error {
	if !o.iscsiStopped(err) {
		return fail(err, format, args...)
	}
	return &Error{
		Class: FailedPrecondition, Reason: reason.ServiceNotRunning, Err: err,
		Message: fmt.Sprintf("%s: the service %s is not running on this node; start it with StartService",
			fmt.Sprintf(format, args...), iscsiService),
	}
}

// iscsiStopped reports whether an error comes from the initiator service being stopped. A failing RPC can mean that, or
// that the service does not answer just now.
func (o *op) iscsiStopped(err error) bool {
	if hasCode(err, win32.ISDSC_SERVICE_NOT_RUNNING, win32.ERROR_SERVICE_NOT_ACTIVE) {
		return true
	}
	if !hasCode(err, win32.RPC_S_SERVER_UNAVAILABLE, win32.EPT_S_NOT_REGISTERED) {
		return false
	}
	service, err := o.k.QueryService(iscsiService)
	return err == nil && service.State == win32.SERVICE_STOPPED
}
