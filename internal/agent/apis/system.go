// SPDX-License-Identifier: Apache-2.0

package apis

import (
	"context"

	api "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// systemMethods returns the methods of system v1alpha1, the group's only version. Enums have Windows' numbers.
func systemMethods(n *node.Node) []server.Method {
	return []server.Method{
		unary(n, "GetBIOSSerialNumber", server.LimitRead,
			func(ctx context.Context, n *node.Node,
				_ *api.GetBIOSSerialNumberRequest) (*api.GetBIOSSerialNumberResponse, error) {
				serial, err := n.System.GetBIOSSerialNumber(ctx)
				return &api.GetBIOSSerialNumberResponse{SerialNumber: serial}, err
			}),
		unary(n, "StartService", server.LimitWrite,
			func(ctx context.Context, n *node.Node, r *api.StartServiceRequest) (*api.StartServiceResponse, error) {
				return &api.StartServiceResponse{}, n.System.StartService(ctx, r.GetName())
			}),
		unary(n, "StopService", server.LimitWrite,
			func(ctx context.Context, n *node.Node, r *api.StopServiceRequest) (*api.StopServiceResponse, error) {
				return &api.StopServiceResponse{}, n.System.StopService(ctx, r.GetName(), r.GetForce())
			}),
		unary(n, "GetService", server.LimitRead,
			func(ctx context.Context, n *node.Node, r *api.GetServiceRequest) (*api.GetServiceResponse, error) {
				s, err := n.System.GetService(ctx, r.GetName())
				return &api.GetServiceResponse{
					DisplayName: s.DisplayName, StartType: api.StartType(s.StartType), Status: api.ServiceStatus(s.State),
				}, err
			}),
	}
}
