// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"

	"google.golang.org/grpc/codes"

	v1alpha1api "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1alpha1"
	v1beta1api "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1beta1"
	v1beta2api "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1beta2"
	"github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1beta1"
	"github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1beta2"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// The old versions do what the newest does; their in-band error stays empty, and failures are statuses.
func TestSMBVersions(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	alpha, err := v1alpha1.NewClientWithPipePath(n.Socket("smb", "v1alpha1"))
	noError(t, err)
	defer alpha.Close() //nolint:errcheck // nothing follows
	beta1, err := v1beta1.NewClientWithPipePath(n.Socket("smb", "v1beta1"))
	noError(t, err)
	defer beta1.Close() //nolint:errcheck // nothing follows
	beta2, err := v1beta2.NewClientWithPipePath(n.Socket("smb", "v1beta2"))
	noError(t, err)
	defer beta2.Close() //nolint:errcheck // nothing follows

	for name, version := range map[string]struct {
		create func(remote, local, user, password string) (inBand string, err error)
		remove func(remote string) (inBand string, err error)
	}{
		"v1alpha1": {
			func(remote, local, user, password string) (string, error) {
				r, err := alpha.NewSmbGlobalMapping(t.Context(), &v1alpha1api.NewSmbGlobalMappingRequest{RemotePath: remote,
					LocalPath: local, Username: user, Password: password})
				return r.GetError(), err
			},
			func(remote string) (string, error) {
				r, err := alpha.RemoveSmbGlobalMapping(t.Context(), &v1alpha1api.RemoveSmbGlobalMappingRequest{RemotePath: remote})
				return r.GetError(), err
			},
		},
		"v1beta1": {
			func(remote, local, user, password string) (string, error) {
				r, err := beta1.NewSmbGlobalMapping(t.Context(), &v1beta1api.NewSmbGlobalMappingRequest{RemotePath: remote,
					LocalPath: local, Username: user, Password: password})
				return r.GetError(), err
			},
			func(remote string) (string, error) {
				r, err := beta1.RemoveSmbGlobalMapping(t.Context(), &v1beta1api.RemoveSmbGlobalMappingRequest{RemotePath: remote})
				return r.GetError(), err
			},
		},
		"v1beta2": {
			func(remote, local, user, password string) (string, error) {
				_, err := beta2.NewSmbGlobalMapping(t.Context(), &v1beta2api.NewSmbGlobalMappingRequest{RemotePath: remote,
					LocalPath: local, Username: user, Password: password})
				return "", err
			},
			func(remote string) (string, error) {
				_, err := beta2.RemoveSmbGlobalMapping(t.Context(), &v1beta2api.RemoveSmbGlobalMappingRequest{RemotePath: remote})
				return "", err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := version.create(share, podsPath+`\link`, smbUser, "not-the-password")
			wantCode(t, err, codes.Unauthenticated)
			for range 2 {
				inBand, err := version.create(share, podsPath+`\link`, smbUser, smbPassword)
				if err != nil || inBand != "" {
					t.Errorf("mapping: %q, %v", inBand, err)
				}
			}
			wantMapped(t, n, share)
			for range 2 {
				inBand, err := version.remove(share)
				if err != nil || inBand != "" {
					t.Errorf("unmapping: %q, %v", inBand, err)
				}
			}
			wantMapped(t, n)
			_, err = version.remove(`\\server`)
			wantCode(t, err, codes.InvalidArgument)
			noError(t, rmdir(t, n, podsPath+`\link`, true))
		})
	}
}
