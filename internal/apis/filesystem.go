// SPDX-License-Identifier: Apache-2.0

package apis

import (
	"context"

	api "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// filesystemMethods returns the methods of filesystem v2alpha1, the group's hub.
func filesystemMethods(files *node.Filesystem) []server.Method {
	return []server.Method{
		server.Unary("PathExists", server.LimitRead,
			func(ctx context.Context, r *api.PathExistsRequest) (*api.PathExistsResponse, error) {
				exists, err := files.PathExists(ctx, r.GetPath())
				return &api.PathExistsResponse{Exists: exists}, err
			}),
		server.Unary("Mkdir", server.LimitWrite, func(ctx context.Context, r *api.MkdirRequest) (*api.MkdirResponse, error) {
			return &api.MkdirResponse{}, files.Mkdir(ctx, r.GetPath())
		}),
		server.Unary("Rmdir", server.LimitWrite, func(ctx context.Context, r *api.RmdirRequest) (*api.RmdirResponse, error) {
			return &api.RmdirResponse{}, files.Rmdir(ctx, r.GetPath(), r.GetForce())
		}),
		server.Unary("RmdirContents", server.LimitWrite,
			func(ctx context.Context, r *api.RmdirContentsRequest) (*api.RmdirContentsResponse, error) {
				return &api.RmdirContentsResponse{}, files.RmdirContents(ctx, r.GetPath())
			}),
		server.Unary("CreateSymlink", server.LimitWrite,
			func(ctx context.Context, r *api.CreateSymlinkRequest) (*api.CreateSymlinkResponse, error) {
				return &api.CreateSymlinkResponse{}, files.CreateSymlink(ctx, r.GetSourcePath(), r.GetTargetPath())
			}),
		server.Unary("IsSymlink", server.LimitRead,
			func(ctx context.Context, r *api.IsSymlinkRequest) (*api.IsSymlinkResponse, error) {
				is, err := files.IsSymlink(ctx, r.GetPath())
				return &api.IsSymlinkResponse{IsSymlink: is}, err
			}),
	}
}
