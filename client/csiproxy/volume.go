// SPDX-License-Identifier: Apache-2.0

package csiproxy

import (
	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
)

// SizeError returns why the sizes in an answer of GetVolume are not known, an [*Error] with the answer's code, reason
// and text, nil if they are. It is the error of a NodeGetVolumeStats that needs them. For a share it is
// ErrServerUnreachable, ErrCredentials, ErrShareNotFound and others, as for StageShare.
func SizeError(v *GetVolumeResponse) error {
	if v.GetCode() == 0 {
		return nil
	}
	return &Error{Group: "nodesteps", Version: "v1alpha1", Method: "GetVolume", Code: codes.Code(v.GetCode()),
		Reason: v.GetReason(), Message: v.GetMessage(),
		server: v.GetReason() == reason.NotAnswering && v.GetVolumeId() == ""}
}
