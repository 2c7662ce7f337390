// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	api "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
)

// smbMethods are the methods of smb v1, the group's hub.
func smbMethods(shares *node.SMB) []Method {
	return []Method{
		Unary("NewSmbGlobalMapping", LimitWrite, func(ctx context.Context, r *api.NewSmbGlobalMappingRequest) (*api.NewSmbGlobalMappingResponse, error) {
			password := node.Secret(r.GetPassword())
			r.Password = "" // the request itself cannot be wiped; let it at least not live on
			err := shares.NewSMBGlobalMapping(ctx, r.GetRemotePath(), r.GetLocalPath(), r.GetUsername(), password)
			return &api.NewSmbGlobalMappingResponse{}, err
		}),
		Unary("RemoveSmbGlobalMapping", LimitWrite, func(ctx context.Context, r *api.RemoveSmbGlobalMappingRequest) (*api.RemoveSmbGlobalMappingResponse, error) {
			return &api.RemoveSmbGlobalMappingResponse{}, shares.RemoveSMBGlobalMapping(ctx, r.GetRemotePath())
		}),
	}
}
