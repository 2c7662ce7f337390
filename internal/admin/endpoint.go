// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"slices"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/buildversion"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// EndpointName is the name of the endpoint's socket or pipe.
const EndpointName = "csiproxy-admin"

// An Agent is the agent that the endpoint shows and restarts.
type Agent interface {
	// API returns the server of the storage API; nil while the node reboots or the agent stops.
	API() *server.Server
	// Node returns the node's operations. It fails while API returns nil.
	Node() (*node.Node, error)
	// Restart reboots the emulated node and serves it again.
	Restart(ctx context.Context) error
	// Restore makes the emulated node what was saved in a directory, and serves it again.
	Restore(ctx context.Context, directory string) error
}

// Endpoint returns the admin endpoint of an agent: the service Admin, and EmulatedNode unless the Emulation is zero.
func Endpoint(a Agent, e Emulation) server.Endpoint {
	services := []server.Service{{
		Name: api.Admin_ServiceDesc.ServiceName,
		Methods: []server.Method{
			server.Unary("ListAPIs", server.LimitRead, func(context.Context, *api.ListAPIsRequest) (*api.ListAPIsResponse, error) {
				return listAPIs(a.API()), nil
			}),
			server.Unary("GetTree", server.LimitRead, func(ctx context.Context, _ *api.GetTreeRequest) (*api.GetTreeResponse, error) {
				return Tree(ctx, a)
			}),
			server.Unary("ListJournal", 2*journalPatience, e.ListJournal),
			server.Unary("Inspect", server.LimitWrite, func(ctx context.Context, _ *api.InspectRequest) (*api.InspectResponse, error) {
				return inspect(ctx, a)
			}),
		},
	}}
	if e.Node != nil {
		services = append(services, server.Service{
			Name: api.EmulatedNode_ServiceDesc.ServiceName,
			Methods: append(slices.Concat(diskMethods(e.Node), networkMethods(e.Node), systemMethods(e.Node)),
				server.Unary("AddFault", server.LimitWrite, e.addFault),
				server.Unary("ListFaults", server.LimitRead, e.ListFaults),
				server.Unary("RemoveFault", server.LimitWrite, e.removeFault),
				server.Unary("Reboot", server.LimitLong, func(ctx context.Context, _ *api.RebootRequest) (*api.RebootResponse, error) {
					return &api.RebootResponse{}, a.Restart(context.WithoutCancel(ctx))
				}),
				server.Unary("SaveNode", server.LimitLong, func(_ context.Context, r *api.SaveNodeRequest) (*api.SaveNodeResponse, error) {
					return &api.SaveNodeResponse{}, controlError(e.Node.Save(r.GetDirectory(), r.GetClone()))
				}),
				server.Unary("RestoreNode", server.LimitLong, func(ctx context.Context, r *api.RestoreNodeRequest) (*api.RestoreNodeResponse, error) {
					return &api.RestoreNodeResponse{}, controlError(a.Restore(context.WithoutCancel(ctx), r.GetDirectory()))
				})),
		})
	}
	return server.Endpoint{Name: EndpointName, Private: true, Services: services}
}

func listAPIs(serving *server.Server) *api.ListAPIsResponse {
	response := &api.ListAPIsResponse{AgentVersion: buildversion.String()}
	if serving == nil {
		return response
	}
	for _, e := range serving.Endpoints() {
		response.Apis = append(response.Apis, &api.API{Group: e.Group, Version: e.Version, Endpoint: serving.Path(e)})
	}
	return response
}
