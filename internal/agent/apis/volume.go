// SPDX-License-Identifier: Apache-2.0

package apis

import (
	"context"

	api "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// volumeMethods returns the methods of volume v2alpha1, the group's hub.
func volumeMethods(n *node.Node) []server.Method {
	return []server.Method{
		unary(n, "ListVolumesOnDisk", server.LimitLong,
			func(ctx context.Context, n *node.Node,
				r *api.ListVolumesOnDiskRequest) (*api.ListVolumesOnDiskResponse, error) {
				ids, err := n.Volumes.ListVolumesOnDisk(ctx, r.GetDiskNumber(), r.GetPartitionNumber())
				return &api.ListVolumesOnDiskResponse{VolumeIds: ids}, err
			}),
		unary(n, "MountVolume", server.LimitWrite,
			func(ctx context.Context, n *node.Node, r *api.MountVolumeRequest) (*api.MountVolumeResponse, error) {
				return &api.MountVolumeResponse{}, n.Volumes.MountVolume(ctx, r.GetVolumeId(), r.GetTargetPath())
			}),
		unary(n, "UnmountVolume", server.LimitWrite,
			func(ctx context.Context, n *node.Node, r *api.UnmountVolumeRequest) (*api.UnmountVolumeResponse, error) {
				return &api.UnmountVolumeResponse{}, n.Volumes.UnmountVolume(ctx, r.GetVolumeId(), r.GetTargetPath())
			}),
		unary(n, "IsVolumeFormatted", server.LimitRead,
			func(ctx context.Context, n *node.Node,
				r *api.IsVolumeFormattedRequest) (*api.IsVolumeFormattedResponse, error) {
				formatted, err := n.Volumes.IsVolumeFormatted(ctx, r.GetVolumeId())
				return &api.IsVolumeFormattedResponse{Formatted: formatted}, err
			}),
		unary(n, "FormatVolume", server.LimitLong,
			func(ctx context.Context, n *node.Node, r *api.FormatVolumeRequest) (*api.FormatVolumeResponse, error) {
				return &api.FormatVolumeResponse{}, n.Volumes.FormatVolume(ctx, r.GetVolumeId())
			}),
		unary(n, "ResizeVolume", server.LimitLong,
			func(ctx context.Context, n *node.Node, r *api.ResizeVolumeRequest) (*api.ResizeVolumeResponse, error) {
				return &api.ResizeVolumeResponse{}, n.Volumes.ResizeVolume(ctx, r.GetVolumeId(), r.GetSizeBytes())
			}),
		unary(n, "GetVolumeStats", server.LimitRead,
			func(ctx context.Context, n *node.Node, r *api.GetVolumeStatsRequest) (*api.GetVolumeStatsResponse, error) {
				stats, err := n.Volumes.GetVolumeStats(ctx, r.GetVolumeId())
				return &api.GetVolumeStatsResponse{TotalBytes: stats.Total, UsedBytes: stats.Used}, err
			}),
		unary(n, "GetDiskNumberFromVolumeID", server.LimitRead,
			func(ctx context.Context, n *node.Node,
				r *api.GetDiskNumberFromVolumeIDRequest) (*api.GetDiskNumberFromVolumeIDResponse, error) {
				number, err := n.Volumes.GetDiskNumberFromVolumeID(ctx, r.GetVolumeId())
				return &api.GetDiskNumberFromVolumeIDResponse{DiskNumber: number}, err
			}),
		unary(n, "GetVolumeIDFromTargetPath", server.LimitRead,
			func(ctx context.Context, n *node.Node,
				r *api.GetVolumeIDFromTargetPathRequest) (*api.GetVolumeIDFromTargetPathResponse, error) {
				id, err := n.Volumes.GetVolumeIDFromTargetPath(ctx, r.GetTargetPath())
				return &api.GetVolumeIDFromTargetPathResponse{VolumeId: id}, err
			}),
		unary(n, "GetClosestVolumeIDFromTargetPath", server.LimitRead,
			func(ctx context.Context, n *node.Node, r *api.GetClosestVolumeIDFromTargetPathRequest) (
				*api.GetClosestVolumeIDFromTargetPathResponse, error) {
				id, err := n.Volumes.GetClosestVolumeIDFromTargetPath(ctx, r.GetTargetPath())
				return &api.GetClosestVolumeIDFromTargetPathResponse{VolumeId: id}, err
			}),
		unary(n, "WriteVolumeCache", server.LimitWrite,
			func(ctx context.Context, n *node.Node, r *api.WriteVolumeCacheRequest) (*api.WriteVolumeCacheResponse, error) {
				return &api.WriteVolumeCacheResponse{}, n.Volumes.WriteVolumeCache(ctx, r.GetVolumeId())
			}),
	}
}
