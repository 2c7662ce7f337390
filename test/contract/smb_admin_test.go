// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"

	"google.golang.org/grpc/codes"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
)

// The admin endpoint rotates a password as an administrator of the file servers would.
func TestSMBControl(t *testing.T) {
	n := startMapped(t)
	client := n.Admin(t)
	_, err := client.SetSMBPassword(t.Context(), &admin.SetSMBPasswordRequest{User: `AZURE\CSI`, Password: newPassword})
	noError(t, err)
	if isSymlink(t, n, stagedShare) {
		t.Error("sessions with the old password go on")
	}
	noError(t, mapShare(t, n, share, stagedShare, smbUser, newPassword))
	_, err = client.SetSMBPassword(t.Context(), &admin.SetSMBPasswordRequest{User: "nobody", Password: newPassword})
	wantCode(t, err, codes.NotFound)
	for _, running := range []bool{false, false, true, true} {
		_, err = client.SetSMBServerState(t.Context(), &admin.SetSMBServerStateRequest{Server: "fs.emulated", Running: running})
		noError(t, err)
		if isSymlink(t, n, stagedShare) != running {
			t.Errorf("running=%t, but the share answers otherwise", running)
		}
	}
	_, err = client.SetSMBServerState(t.Context(), &admin.SetSMBServerStateRequest{Server: "none"})
	wantCode(t, err, codes.NotFound)
}
