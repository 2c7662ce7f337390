// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"time"

	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

const healthLimit = 30 * time.Second

// healthService returns the unary methods of gRPC's health service as rows of a table. gRPC's own handlers read the
// request before any interceptor runs, where nothing counts clients that send only headers. Watch, a stream, is left
// out: clients take its absence for health.
// https://github.com/grpc/grpc/blob/master/doc/health-checking.md
func healthService(h *health.Server) Service {
	return Service{Name: healthpb.Health_ServiceDesc.ServiceName, Methods: []Method{
		Unary("Check", healthLimit, h.Check),
		Unary("List", healthLimit, h.List),
	}}
}

// isHealth reports whether a path on the wire belongs to the health service.
func isHealth(path string) bool {
	return strings.HasPrefix(path, "/"+healthpb.Health_ServiceDesc.ServiceName+"/")
}
