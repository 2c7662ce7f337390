// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"math"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// networkMethods control the file servers and the storage system that an emulated node reaches.
func networkMethods(n *emulated.Node) []server.Method {
	return []server.Method{
		server.Unary("SetSMBPassword", server.LimitWrite, func(_ context.Context, r *admin.SetSMBPasswordRequest) (*admin.SetSMBPasswordResponse, error) {
			return &admin.SetSMBPasswordResponse{}, controlError(n.SetSMBPassword(r.GetUser(), r.GetPassword()))
		}),
		server.Unary("SetSMBServerState", server.LimitWrite, func(_ context.Context, r *admin.SetSMBServerStateRequest) (*admin.SetSMBServerStateResponse, error) {
			change := n.StopSMBServer
			if r.GetRunning() {
				change = n.StartSMBServer
			}
			return &admin.SetSMBServerStateResponse{}, controlError(change(r.GetServer()))
		}),
		server.Unary("AddSMBShare", server.LimitWrite, func(_ context.Context, r *admin.AddSMBShareRequest) (*admin.AddSMBShareResponse, error) {
			return &admin.AddSMBShareResponse{}, controlError(n.AddSMBShare(r.GetServer(), r.GetShare(), r.GetUsers()))
		}),
		server.Unary("RemoveSMBShare", server.LimitWrite, func(_ context.Context, r *admin.RemoveSMBShareRequest) (*admin.RemoveSMBShareResponse, error) {
			return &admin.RemoveSMBShareResponse{}, controlError(n.RemoveSMBShare(r.GetServer(), r.GetShare()))
		}),
		server.Unary("AddSMBUser", server.LimitWrite, func(_ context.Context, r *admin.AddSMBUserRequest) (*admin.AddSMBUserResponse, error) {
			user := emulated.SMBUserSpec{Name: r.GetUser(), Domains: r.GetDomains(), Password: r.GetPassword()}
			return &admin.AddSMBUserResponse{}, controlError(n.AddSMBUser(user))
		}),
		server.Unary("RemoveSMBUser", server.LimitWrite, func(_ context.Context, r *admin.RemoveSMBUserRequest) (*admin.RemoveSMBUserResponse, error) {
			return &admin.RemoveSMBUserResponse{}, controlError(n.RemoveSMBUser(r.GetUser()))
		}),
		server.Unary("DropSMBSessions", server.LimitWrite, func(_ context.Context, r *admin.DropSMBSessionsRequest) (*admin.DropSMBSessionsResponse, error) {
			return &admin.DropSMBSessionsResponse{}, controlError(n.DropSMBSessions(r.GetServer()))
		}),
		server.Unary("SetISCSIPortalState", server.LimitWrite, func(_ context.Context, r *admin.SetISCSIPortalStateRequest) (*admin.SetISCSIPortalStateResponse, error) {
			port := uint16(emulated.DefaultISCSIPort)
			switch {
			case r.GetPort() > math.MaxUint16:
				return nil, invalid("the port %d is more than %d", r.GetPort(), math.MaxUint16)
			case r.GetPort() > 0:
				port = uint16(r.GetPort())
			}
			return &admin.SetISCSIPortalStateResponse{}, controlError(n.SetISCSIPortal(r.GetAddress(), port, r.GetConnected()))
		}),
		server.Unary("DropISCSISession", server.LimitWrite, func(_ context.Context, r *admin.DropISCSISessionRequest) (*admin.DropISCSISessionResponse, error) {
			return &admin.DropISCSISessionResponse{}, controlError(n.DropISCSISession(r.GetTarget()))
		}),
	}
}
