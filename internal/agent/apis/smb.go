// SPDX-License-Identifier: Apache-2.0

package apis

import (
	"context"

	api "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// smbMethods returns the methods of smb v1, the group's hub.
func smbMethods(n *node.Node) []server.Method {
	return []server.Method{
		unary(n, "NewSmbGlobalMapping", server.LimitWrite,
			func(ctx context.Context, n *node.Node,
				r *api.NewSmbGlobalMappingRequest) (*api.NewSmbGlobalMappingResponse, error) {
				password := node.Secret(r.GetPassword())
				r.Password = "" // its memory cannot be wiped, but nothing refers to it any more
				err := n.SMB.NewSMBGlobalMapping(ctx, r.GetRemotePath(), r.GetLocalPath(), r.GetUsername(), password)
				return &api.NewSmbGlobalMappingResponse{}, err
			}),
		unary(n, "RemoveSmbGlobalMapping", server.LimitWrite,
			func(ctx context.Context, n *node.Node,
				r *api.RemoveSmbGlobalMappingRequest) (*api.RemoveSmbGlobalMappingResponse, error) {
				return &api.RemoveSmbGlobalMappingResponse{}, n.SMB.RemoveSMBGlobalMapping(ctx, r.GetRemotePath())
			}),
	}
}
