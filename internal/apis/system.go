// SPDX-License-Identifier: Apache-2.0

package apis

import (
	"context"

	api "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// systemMethods returns the methods of system v1alpha1, the group's hub and only version. The enums' numbers are those
// of Windows on both sides.
func systemMethods(system *node.System) []server.Method {
	return []server.Method{
		server.Unary("GetBIOSSerialNumber", server.LimitRead,
			func(ctx context.Context, _ *api.GetBIOSSerialNumberRequest) (*api.GetBIOSSerialNumberResponse, error) {
				serial, err := system.GetBIOSSerialNumber(ctx)
				return &api.GetBIOSSerialNumberResponse{SerialNumber: serial}, err
			}),
		server.Unary("StartService", server.LimitWrite,
			func(ctx context.Context, r *api.StartServiceRequest) (*api.StartServiceResponse, error) {
				return &api.StartServiceResponse{}, system.StartService(ctx, r.GetName())
			}),
		server.Unary("StopService", server.LimitWrite,
			func(ctx context.Context, r *api.StopServiceRequest) (*api.StopServiceResponse, error) {
				return &api.StopServiceResponse{}, system.StopService(ctx, r.GetName(), r.GetForce())
			}),
		server.Unary("GetService", server.LimitRead,
			func(ctx context.Context, r *api.GetServiceRequest) (*api.GetServiceResponse, error) {
				s, err := system.GetService(ctx, r.GetName())
				return &api.GetServiceResponse{
					DisplayName: s.DisplayName, StartType: api.StartType(s.StartType), Status: api.ServiceStatus(s.Status),
				}, err
			}),
	}
}
