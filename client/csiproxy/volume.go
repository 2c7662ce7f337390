// SPDX-License-Identifier: Apache-2.0

package csiproxy

import (
	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
)

// SizeError returns why the sizes in an answer of GetVolume are not known, an [*Error] with the answer's reason and
// text, nil if they are. It is the error of a NodeGetVolumeStats that needs them.
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
		e.Code = codes.Unavailable
	}
	return e
}
