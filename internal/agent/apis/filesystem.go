// SPDX-License-Identifier: Apache-2.0

package apis

import (
	"context"

	api "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// filesystemMethods returns the methods of filesystem v2alpha1, the group's hub.
func filesystemMethods(n *node.Node) []server.Method {
	return []server.Method{
		unary(n, "PathExists", server.LimitRead,
			func(ctx context.Context, n *node.Node, r *api.PathExistsRequest) (*api.PathExistsResponse, error) {
				exists, err := n.Filesystem.PathExists(ctx, r.GetPath())
				return &api.PathExistsResponse{Exists: exists}, err
			}),
		unary(n, "Mkdir", server.LimitWrite, func(ctx context.Context, n *node.Node,
			r *api.MkdirRequest) (*api.MkdirResponse, error) {
			return &api.MkdirResponse{}, n.Filesystem.Mkdir(ctx, r.GetPath())
		}),
		unary(n, "Rmdir", server.LimitWrite, func(ctx context.Context, n *node.Node,
			r *api.RmdirRequest) (*api.RmdirResponse, error) {
			return &api.RmdirResponse{}, n.Filesystem.Rmdir(ctx, r.GetPath(), r.GetForce())
		}),
		unary(n, "RmdirContents", server.LimitWrite,
			func(ctx context.Context, n *node.Node, r *api.RmdirContentsRequest) (*api.RmdirContentsResponse, error) {
				return &api.RmdirContentsResponse{}, n.Filesystem.RmdirContents(ctx, r.GetPath())
			}),
		unary(n, "CreateSymlink", server.LimitWrite,
			func(ctx context.Context, n *node.Node, r *api.CreateSymlinkRequest) (*api.CreateSymlinkResponse, error) {
				return &api.CreateSymlinkResponse{}, n.Filesystem.CreateSymlink(ctx, r.GetSourcePath(), r.GetTargetPath())
			}),
		unary(n, "IsSymlink", server.LimitRead,
			func(ctx context.Context, n *node.Node, r *api.IsSymlinkRequest) (*api.IsSymlinkResponse, error) {
				is, err := n.Filesystem.IsSymlink(ctx, r.GetPath())
				return &api.IsSymlinkResponse{IsSymlink: is}, err
			}),
	}
}
