// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"context"
	"math"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// networkMethods returns the methods that control the file servers and the iSCSI storage of an emulated node.
func networkMethods(n *emulated.Node) []server.Method {
	return []server.Method{
		server.Unary("ListNetwork", server.LimitRead,
			func(context.Context, *api.ListNetworkRequest) (*api.ListNetworkResponse, error) {
				response := &api.ListNetworkResponse{}
				for _, s := range n.FileServers() {
					response.Servers = append(response.Servers, &api.FileServer{Name: s.Name, Shares: s.Shares, Stopped: s.Stopped})
				}
				for _, p := range n.ISCSIPortals() {
					response.Portals = append(response.Portals, &api.ISCSIPortal{Address: p.Address, Port: uint32(p.Port),
						Connected: p.Connected, Targets: p.Targets})
				}
				return response, nil
			}),
		server.Unary("SetSMBPassword", server.LimitWrite,
			func(_ context.Context, r *api.SetSMBPasswordRequest) (*api.SetSMBPasswordResponse, error) {
				return &api.SetSMBPasswordResponse{}, controlError(n.SetSMBPassword(r.GetUser(), r.GetPassword()))
			}),
		server.Unary("SetSMBServerState", server.LimitWrite,
			func(_ context.Context, r *api.SetSMBServerStateRequest) (*api.SetSMBServerStateResponse, error) {
				change := n.StopSMBServer
				if r.GetRunning() {
					change = n.StartSMBServer
				}
				return &api.SetSMBServerStateResponse{}, controlError(change(r.GetServer()))
			}),
		server.Unary("AddSMBShare", server.LimitWrite,
			func(_ context.Context, r *api.AddSMBShareRequest) (*api.AddSMBShareResponse, error) {
				err := n.AddSMBShare(r.GetServer(), r.GetShare(), r.GetUsers())
				if err == nil {
					err = n.SetSMBShareSpace(r.GetServer(), r.GetShare(), r.GetSizeBytes(), r.GetQuotaBytes())
				}
				return &api.AddSMBShareResponse{}, controlError(err)
			}),
		server.Unary("RemoveSMBShare", server.LimitWrite,
			func(_ context.Context, r *api.RemoveSMBShareRequest) (*api.RemoveSMBShareResponse, error) {
				return &api.RemoveSMBShareResponse{}, controlError(n.RemoveSMBShare(r.GetServer(), r.GetShare()))
			}),
		server.Unary("AddSMBUser", server.LimitWrite,
			func(_ context.Context, r *api.AddSMBUserRequest) (*api.AddSMBUserResponse, error) {
				user := emulated.SMBUserSpec{Name: r.GetUser(), Domains: r.GetDomains(), Password: r.GetPassword()}
				return &api.AddSMBUserResponse{}, controlError(n.AddSMBUser(user))
			}),
		server.Unary("RemoveSMBUser", server.LimitWrite,
			func(_ context.Context, r *api.RemoveSMBUserRequest) (*api.RemoveSMBUserResponse, error) {
				return &api.RemoveSMBUserResponse{}, controlError(n.RemoveSMBUser(r.GetUser()))
			}),
		server.Unary("DropSMBSessions", server.LimitWrite,
			func(_ context.Context, r *api.DropSMBSessionsRequest) (*api.DropSMBSessionsResponse, error) {
				return &api.DropSMBSessionsResponse{}, controlError(n.DropSMBSessions(r.GetServer()))
			}),
		server.Unary("SetISCSIPortalState", server.LimitWrite,
			func(_ context.Context, r *api.SetISCSIPortalStateRequest) (*api.SetISCSIPortalStateResponse, error) {
				port := uint16(emulated.DefaultISCSIPort)
				switch {
				case r.GetPort() > math.MaxUint16:
					return nil, invalid("the port %d is more than %d", r.GetPort(), math.MaxUint16)
				case r.GetPort() > 0:
					port = uint16(r.GetPort())
				}
				return &api.SetISCSIPortalStateResponse{}, controlError(n.SetISCSIPortal(r.GetAddress(), port, r.GetConnected()))
			}),
		server.Unary("DropISCSISession", server.LimitWrite,
			func(_ context.Context, r *api.DropISCSISessionRequest) (*api.DropISCSISessionResponse, error) {
				return &api.DropISCSISessionResponse{}, controlError(n.DropISCSISession(r.GetTarget()))
			}),
	}
}
