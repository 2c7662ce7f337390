// SPDX-License-Identifier: Apache-2.0

package server

import (
	grpcprometheus "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/limits"
)

// Metrics counts the calls of one agent. Its labels are the names of served methods, so callers cannot add any.
type Metrics struct {
	calls   *grpcprometheus.ServerMetrics
	clients *limits.Metrics
}

// NewMetrics returns metrics in a registry; nil: in none.
func NewMetrics(in prometheus.Registerer) *Metrics {
	calls := grpcprometheus.NewServerMetrics(grpcprometheus.WithServerHandlingTimeHistogram(
		grpcprometheus.WithHistogramBuckets([]float64{.001, .005, .01, .05, .1, .5, 1, 5, 15, 30, 60, 120})))
	if in != nil {
		in.MustRegister(calls)
	}
	return &Metrics{calls: calls, clients: limits.NewMetrics(in)}
}
