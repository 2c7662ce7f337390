// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	grpcprometheus "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/limits"
)

// Metrics counts the calls of one agent; the nil value counts nothing. Its labels are the names of the methods that
// are served, so callers cannot add any.
type Metrics struct {
	calls   *grpcprometheus.ServerMetrics
	clients *limits.Metrics
}

// NewMetrics returns metrics without calls.
func NewMetrics() *Metrics {
	return &Metrics{
		calls: grpcprometheus.NewServerMetrics(grpcprometheus.WithServerHandlingTimeHistogram(
			grpcprometheus.WithHistogramBuckets([]float64{.001, .005, .01, .05, .1, .5, 1, 5, 15, 30, 60, 120}))),
		clients: limits.NewMetrics(),
	}
}

// Collectors returns the collectors, for a registry.
func (m *Metrics) Collectors() []prometheus.Collector { return append(m.clients.Collectors(), m.calls) }

// interceptor returns the interceptor that counts calls.
func (m *Metrics) interceptor() grpc.UnaryServerInterceptor {
	if m == nil {
		return func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			return next(ctx, request)
		}
	}
	return m.calls.UnaryServerInterceptor()
}

// ofClients returns the metrics of the clients' connections and calls; nil when nothing is counted.
func (m *Metrics) ofClients() *limits.Metrics {
	if m == nil {
		return nil
	}
	return m.clients
}
