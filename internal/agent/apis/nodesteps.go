// SPDX-License-Identifier: Apache-2.0

package apis

import (
	"context"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// nodestepsMethods returns the methods of nodesteps v1alpha1, the group's hub and only version.
func nodestepsMethods(n *node.Node) []server.Method {
	return []server.Method{
		step(n, "StageDisk", server.LimitLong, (*node.Steps).StageDisk),
		step(n, "StageShare", server.LimitLong, (*node.Steps).StageShare),
		step(n, "Unstage", server.LimitLong, (*node.Steps).Unstage),
		step(n, "Publish", server.LimitWrite, (*node.Steps).Publish),
		step(n, "Expand", server.LimitLong, (*node.Steps).Expand),
		step(n, "GetVolume", server.LimitRead, (*node.Steps).GetVolume),
		step(n, "GetUsage", server.LimitRead, (*node.Steps).GetUsage),
	}
}

// step is unary for a step, which has the messages of the method.
func step[Request, Response any](n *node.Node, name string, limit time.Duration,
	do func(*node.Steps, context.Context, *Request) (*Response, error)) server.Method {
	return unary(n, name, limit,
		func(ctx context.Context, n *node.Node, r *Request) (*Response, error) { return do(n.Steps, ctx, r) })
}
