// SPDX-License-Identifier: Apache-2.0

// Package admin is the read-only service of the admin endpoint: the APIs that are served, and facts about the node.
package admin

import (
	"context"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/buildversion"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// EndpointName is the name of the endpoint's socket or pipe.
const EndpointName = "csiproxy-admin"

// An Agent is the agent that the endpoint shows.
type Agent interface {
	// API returns the server of the storage API; nil while the node reboots or the agent stops.
	API() *server.Server
	// Node returns the node's operations. It fails while API returns nil.
	Node() (*node.Node, error)
	// Policy returns the operator's policy; nil: there is none.
	Policy() *policy.Policy
}

// Endpoint returns the admin endpoint of an agent: the service Admin, and others that an emulated node has.
func Endpoint(a Agent, others ...server.Service) server.Endpoint {
	shown := server.Service{
		Name: api.Admin_ServiceDesc.ServiceName,
		Methods: []server.Method{
			server.Unary("ListAPIs", node.LimitRead,
				func(context.Context, *api.ListAPIsRequest) (*api.ListAPIsResponse, error) {
					return listAPIs(a.API()), nil
				}),
			server.Unary("GetFacts", node.LimitWrite,
				func(ctx context.Context, request *api.GetFactsRequest) (*api.GetFactsResponse, error) {
					n, err := a.Node()
					if err != nil {
						return nil, err
					}
					facts := FactsOf(ctx, n, request.GetParts()...)
					if rules := a.Policy(); rules != nil {
						facts.Policy = rules.Decisions()
					}
					if serving := a.API(); serving != nil {
						facts.Limits = serving.Limits()
					}
					return facts, nil
				}),
		},
	}
	return server.Endpoint{Name: EndpointName, Private: true, Services: append([]server.Service{shown}, others...)}
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
