// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"time"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/buildversion"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// EndpointName is the name of the endpoint's socket or pipe.
const EndpointName = "csiproxy-admin"

// JournalWait is how long ListJournal waits for an entry.
const JournalWait = 30 * time.Second

// An Agent is the agent that the endpoint shows.
type Agent interface {
	// API returns the server of the storage API; nil while the node reboots or the agent stops.
	API() *server.Server
	// Node returns the node's operations. It fails while API returns nil.
	Node() (*node.Node, error)
}

// ListJournal answers the method of that name.
type ListJournal = func(context.Context, *api.ListJournalRequest) (*api.ListJournalResponse, error)

// Endpoint returns the admin endpoint of an agent: the service Admin, and others that an emulated node has. Without a
// journal, ListJournal is refused.
func Endpoint(a Agent, journal ListJournal, others ...server.Service) server.Endpoint {
	if journal == nil {
		journal = noJournal
	}
	shown := server.Service{
		Name: api.Admin_ServiceDesc.ServiceName,
		Methods: []server.Method{
			server.Unary("ListAPIs", server.LimitRead,
				func(context.Context, *api.ListAPIsRequest) (*api.ListAPIsResponse, error) {
					return listAPIs(a.API()), nil
				}),
			server.Unary("GetTree", server.LimitRead,
				func(ctx context.Context, _ *api.GetTreeRequest) (*api.GetTreeResponse, error) {
					return Tree(ctx, a)
				}),
			server.Unary("ListJournal", 2*JournalWait, journal),
			server.Unary("Inspect", server.LimitWrite,
				func(ctx context.Context, request *api.InspectRequest) (*api.InspectResponse, error) {
					return inspect(ctx, a, request.GetThorough())
				}),
		},
	}
	return server.Endpoint{Name: EndpointName, Private: true, Services: append([]server.Service{shown}, others...)}
}

func noJournal(context.Context, *api.ListJournalRequest) (*api.ListJournalResponse, error) {
	return nil, &errdefs.Error{Class: errdefs.FailedPrecondition, Reason: "NO_JOURNAL",
		Message: "only an agent with an emulated node keeps a journal"}
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
