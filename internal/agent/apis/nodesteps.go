// SPDX-License-Identifier: Apache-2.0

package apis

import (
	"context"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// nodestepsMethods returns the methods of nodesteps v1alpha1, the group's hub and only version.
func nodestepsMethods(n *node.Node) []server.Method {
	return []server.Method{
		unary(n, "StageDisk", server.LimitLong,
			func(ctx context.Context, n *node.Node, r *api.StageDiskRequest) (*api.StageDiskResponse, error) {
				return n.Steps.StageDisk(ctx, r)
			}),
		unary(n, "StageShare", server.LimitLong,
			func(ctx context.Context, n *node.Node, r *api.StageShareRequest) (*api.StageShareResponse, error) {
				return n.Steps.StageShare(ctx, r)
			}),
		unary(n, "Unstage", server.LimitLong,
			func(ctx context.Context, n *node.Node, r *api.UnstageRequest) (*api.UnstageResponse, error) {
				return n.Steps.Unstage(ctx, r)
			}),
		unary(n, "Publish", server.LimitWrite,
			func(ctx context.Context, n *node.Node, r *api.PublishRequest) (*api.PublishResponse, error) {
				return n.Steps.Publish(ctx, r)
			}),
		unary(n, "Expand", server.LimitLong,
			func(ctx context.Context, n *node.Node, r *api.ExpandRequest) (*api.ExpandResponse, error) {
				return n.Steps.Expand(ctx, r)
			}),
		unary(n, "GetVolume", server.LimitRead,
			func(ctx context.Context, n *node.Node, r *api.GetVolumeRequest) (*api.GetVolumeResponse, error) {
				return n.Steps.GetVolume(ctx, r)
			}),
		unary(n, "GetUsage", server.LimitRead,
			func(ctx context.Context, n *node.Node, r *api.GetUsageRequest) (*api.GetUsageResponse, error) {
				return n.Steps.GetUsage(ctx, r)
			}),
	}
}
