// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/calls"
)

// by returns the calls of a node, whose errors have the operations' own in them.
func by(ctx context.Context, n *Node) *calls.Calls {
	return calls.By(ctx, func() *csiproxy.Client { return csiproxy.Over(direct{node: n}) })
}

// direct is a connection to a node without a server between.
type direct struct {
	grpc.ClientConnInterface
	node *Node
}

func (d direct) Invoke(ctx context.Context, method string, request, response any, _ ...grpc.CallOption) error {
	m, _ := MethodAt(method)
	answer, err := m.Call(ctx, d.node, request.(proto.Message))
	if err == nil {
		proto.Merge(response.(proto.Message), answer)
	}
	return err
}
