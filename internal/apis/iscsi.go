// SPDX-License-Identifier: Apache-2.0

package apis

import (
	"context"
	"strconv"

	api "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// iscsiMethods returns the methods of iscsi v1alpha2, the group's hub.
func iscsiMethods(iscsi *node.ISCSI) []server.Method {
	return []server.Method{
		server.Unary("AddTargetPortal", server.LimitLong,
			func(ctx context.Context, r *api.AddTargetPortalRequest) (*api.AddTargetPortalResponse, error) {
				return &api.AddTargetPortalResponse{}, iscsi.AddTargetPortal(ctx, portal(r))
			}),
		server.Unary("DiscoverTargetPortal", server.LimitLong,
			func(ctx context.Context, r *api.DiscoverTargetPortalRequest) (*api.DiscoverTargetPortalResponse, error) {
				names, err := iscsi.DiscoverTargetPortal(ctx, portal(r))
				return &api.DiscoverTargetPortalResponse{Iqns: names}, err
			}),
		server.Unary("RemoveTargetPortal", server.LimitWrite,
			func(ctx context.Context, r *api.RemoveTargetPortalRequest) (*api.RemoveTargetPortalResponse, error) {
				return &api.RemoveTargetPortalResponse{}, iscsi.RemoveTargetPortal(ctx, portal(r))
			}),
		server.Unary("ListTargetPortals", server.LimitRead,
			func(ctx context.Context, _ *api.ListTargetPortalsRequest) (*api.ListTargetPortalsResponse, error) {
				found, err := iscsi.ListTargetPortals(ctx)
				portals := make([]*api.TargetPortal, 0, len(found))
				for _, p := range found {
					portals = append(portals, &api.TargetPortal{TargetAddress: p.Address, TargetPort: p.Port})
				}
				return &api.ListTargetPortalsResponse{TargetPortals: portals}, err
			}),
		server.Unary("ConnectTarget", server.LimitLong,
			func(ctx context.Context, r *api.ConnectTargetRequest) (*api.ConnectTargetResponse, error) {
				return &api.ConnectTargetResponse{}, iscsi.ConnectTarget(ctx, portal(r), r.GetIqn(), node.ISCSILogin{
					Authentication: node.ISCSIAuthentication(r.GetAuthType()), Username: r.GetChapUsername(),
					Secret: node.Secret(r.GetChapSecret()),
				})
			}),
		server.Unary("DisconnectTarget", server.LimitLong,
			func(ctx context.Context, r *api.DisconnectTargetRequest) (*api.DisconnectTargetResponse, error) {
				return &api.DisconnectTargetResponse{}, iscsi.DisconnectTarget(ctx, portal(r), r.GetIqn())
			}),
		server.Unary("GetTargetDisks", server.LimitRead,
			func(ctx context.Context, r *api.GetTargetDisksRequest) (*api.GetTargetDisksResponse, error) {
				found, err := iscsi.GetTargetDisks(ctx, portal(r), r.GetIqn())
				disks := make([]string, 0, len(found))
				for _, number := range found {
					disks = append(disks, strconv.FormatUint(uint64(number), 10))
				}
				return &api.GetTargetDisksResponse{DiskIDs: disks}, err
			}),
		server.Unary("SetMutualChapSecret", server.LimitWrite,
			func(ctx context.Context, r *api.SetMutualChapSecretRequest) (*api.SetMutualChapSecretResponse, error) {
				return &api.SetMutualChapSecretResponse{}, iscsi.SetMutualCHAPSecret(ctx, node.Secret(r.GetMutualChapSecret()))
			}),
	}
}

// portal returns the portal of a request. A missing one is the zero value, which the node refuses.
func portal(r interface{ GetTargetPortal() *api.TargetPortal }) node.TargetPortal {
	p := r.GetTargetPortal()
	return node.TargetPortal{Address: p.GetTargetAddress(), Port: p.GetTargetPort()}
}
