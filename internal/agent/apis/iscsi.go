// SPDX-License-Identifier: Apache-2.0

package apis

import (
	"context"
	"strconv"

	api "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// iscsiMethods returns the methods of iscsi v1alpha2, the group's hub.
func iscsiMethods(n *node.Node) []server.Method {
	return []server.Method{
		unary(n, "AddTargetPortal", server.LimitLong,
			func(ctx context.Context, n *node.Node, r *api.AddTargetPortalRequest) (*api.AddTargetPortalResponse, error) {
				return &api.AddTargetPortalResponse{}, n.ISCSI.AddTargetPortal(ctx, portal(r))
			}),
		unary(n, "DiscoverTargetPortal", server.LimitLong,
			func(ctx context.Context, n *node.Node,
				r *api.DiscoverTargetPortalRequest) (*api.DiscoverTargetPortalResponse, error) {
				names, err := n.ISCSI.DiscoverTargetPortal(ctx, portal(r))
				return &api.DiscoverTargetPortalResponse{Iqns: names}, err
			}),
		unary(n, "RemoveTargetPortal", server.LimitWrite,
			func(ctx context.Context, n *node.Node,
				r *api.RemoveTargetPortalRequest) (*api.RemoveTargetPortalResponse, error) {
				return &api.RemoveTargetPortalResponse{}, n.ISCSI.RemoveTargetPortal(ctx, portal(r))
			}),
		unary(n, "ListTargetPortals", server.LimitRead,
			func(ctx context.Context, n *node.Node, _ *api.ListTargetPortalsRequest) (*api.ListTargetPortalsResponse, error) {
				found, err := n.ISCSI.ListTargetPortals(ctx)
				portals := make([]*api.TargetPortal, 0, len(found))
				for _, p := range found {
					portals = append(portals, &api.TargetPortal{TargetAddress: p.Address, TargetPort: p.Port})
				}
				return &api.ListTargetPortalsResponse{TargetPortals: portals}, err
			}),
		unary(n, "ConnectTarget", server.LimitLong,
			func(ctx context.Context, n *node.Node, r *api.ConnectTargetRequest) (*api.ConnectTargetResponse, error) {
				return &api.ConnectTargetResponse{}, n.ISCSI.ConnectTarget(ctx, portal(r), r.GetIqn(), node.ISCSILogin{
					Authentication: node.ISCSIAuthentication(r.GetAuthType()), Username: r.GetChapUsername(),
					Secret: node.Secret(r.GetChapSecret()),
				})
			}),
		unary(n, "DisconnectTarget", server.LimitLong,
			func(ctx context.Context, n *node.Node, r *api.DisconnectTargetRequest) (*api.DisconnectTargetResponse, error) {
				return &api.DisconnectTargetResponse{}, n.ISCSI.DisconnectTarget(ctx, portal(r), r.GetIqn())
			}),
		unary(n, "GetTargetDisks", server.LimitRead,
			func(ctx context.Context, n *node.Node, r *api.GetTargetDisksRequest) (*api.GetTargetDisksResponse, error) {
				found, err := n.ISCSI.GetTargetDisks(ctx, portal(r), r.GetIqn())
				disks := make([]string, 0, len(found))
				for _, number := range found {
					disks = append(disks, strconv.FormatUint(uint64(number), 10))
				}
				return &api.GetTargetDisksResponse{DiskIDs: disks}, err
			}),
		unary(n, "SetMutualChapSecret", server.LimitWrite,
			func(ctx context.Context, n *node.Node,
				r *api.SetMutualChapSecretRequest) (*api.SetMutualChapSecretResponse, error) {
				return &api.SetMutualChapSecretResponse{}, n.ISCSI.SetMutualCHAPSecret(ctx, node.Secret(r.GetMutualChapSecret()))
			}),
	}
}

// portal returns the portal of a request. A missing one is the zero value, which the node refuses.
func portal(r interface{ GetTargetPortal() *api.TargetPortal }) node.TargetPortal {
	p := r.GetTargetPortal()
	return node.TargetPortal{Address: p.GetTargetAddress(), Port: p.GetTargetPort()}
}
