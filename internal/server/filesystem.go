// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	api "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
)

// filesystemMethods are the methods of filesystem v2alpha1, the group's hub.
func filesystemMethods(files *node.Filesystem) []Method {
	return []Method{
		Unary("PathExists", LimitRead, func(ctx context.Context, r *api.PathExistsRequest) (*api.PathExistsResponse, error) {
			exists, err := files.PathExists(ctx, r.GetPath())
			return &api.PathExistsResponse{Exists: exists}, err
		}),
		Unary("Mkdir", LimitWrite, func(ctx context.Context, r *api.MkdirRequest) (*api.MkdirResponse, error) {
			return &api.MkdirResponse{}, files.Mkdir(ctx, r.GetPath())
		}),
		Unary("Rmdir", LimitWrite, func(ctx context.Context, r *api.RmdirRequest) (*api.RmdirResponse, error) {
			return &api.RmdirResponse{}, files.Rmdir(ctx, r.GetPath(), r.GetForce())
		}),
		Unary("RmdirContents", LimitWrite, func(ctx context.Context, r *api.RmdirContentsRequest) (*api.RmdirContentsResponse, error) {
			return &api.RmdirContentsResponse{}, files.RmdirContents(ctx, r.GetPath())
		}),
		Unary("CreateSymlink", LimitWrite, func(ctx context.Context, r *api.CreateSymlinkRequest) (*api.CreateSymlinkResponse, error) {
			return &api.CreateSymlinkResponse{}, files.CreateSymlink(ctx, r.GetSourcePath(), r.GetTargetPath())
		}),
		Unary("IsSymlink", LimitRead, func(ctx context.Context, r *api.IsSymlinkRequest) (*api.IsSymlinkResponse, error) {
			is, err := files.IsSymlink(ctx, r.GetPath())
			return &api.IsSymlinkResponse{IsSymlink: is}, err
		}),
	}
}
