// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

const healthLimit = 30 * time.Second

// healthService returns the unary methods of gRPC's health service as rows of a table. gRPC's own handlers read the
// request before any interceptor runs, where nothing counts clients that send only headers.
func healthService(h *health.Server) Service {
	return Service{Name: healthpb.Health_ServiceDesc.ServiceName, Methods: []Method{
		Unary("Check", healthLimit, h.Check),
		Unary("List", healthLimit, h.List),
	}}
}

// healthDescription describes the whole service.
func healthDescription(h *health.Server) *grpc.ServiceDesc {
	desc := healthService(h).description()
	desc.HandlerType = healthpb.Health_ServiceDesc.HandlerType
	desc.Streams = healthpb.Health_ServiceDesc.Streams
	desc.Metadata = healthpb.Health_ServiceDesc.Metadata
	return desc
}

// isHealth reports whether a path on the wire belongs to the health service.
func isHealth(path string) bool {
	return strings.HasPrefix(path, "/"+healthpb.Health_ServiceDesc.ServiceName+"/")
}
