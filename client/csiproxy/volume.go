// SPDX-License-Identifier: Apache-2.0

package csiproxy

import (
	"slices"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
)

// refusedLogons are the reasons of a server that refuses the user name, the password or the account: Windows' errors,
// as an answer of GetVolume has no code.
var refusedLogons = []string{
	"ACCOUNT_DISABLED", "ACCOUNT_EXPIRED", "ACCOUNT_LOCKED_OUT", "ACCOUNT_RESTRICTION", "BAD_USERNAME",
	"INVALID_LOGON_HOURS", "INVALID_PASSWORD", "INVALID_WORKSTATION", "LOGIN_WKSTA_RESTRICTION", "LOGON_FAILURE",
	"LOGON_TYPE_NOT_GRANTED", "NERR_PASSWORDEXPIRED", "NOT_AUTHENTICATED", "NOT_LOGGED_ON", "NO_SUCH_LOGON_SESSION",
	"NO_SUCH_USER", "PASSWORD_EXPIRED", "PASSWORD_MUST_CHANGE",
}

// SizeError returns why the sizes in an answer of GetVolume are not known, an [*Error] with the answer's reason and
// text, nil if they are. It is the error of a NodeGetVolumeStats that needs them. For a share it is
// ErrServerUnreachable, ErrCredentials, ErrShareNotFound and others, as for StageShare.
func SizeError(v *GetVolumeResponse) error {
	if v.GetTotalBytes() > 0 {
		return nil
	}
	e := &Error{Group: "nodesteps", Version: "v1alpha1", Method: "GetVolume", Code: codes.FailedPrecondition,
		Reason: v.GetReason(), Message: v.GetMessage()}
	switch e.Reason {
	case reason.NotMounted, reason.DiskNotFound:
		e.Code = codes.NotFound
	case reason.NotAnswering, "":
		e.Code, e.server = codes.Unavailable, e.Reason != "" && v.GetVolumeId() == ""
	}
	if slices.Contains(refusedLogons, e.Reason) {
		e.Code = codes.Unauthenticated
	}
	return e
}
