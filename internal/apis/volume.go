// SPDX-License-Identifier: Apache-2.0

package apis

import (
	"context"

	api "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// volumeMethods returns the methods of volume v2alpha1, the group's hub.
func volumeMethods(volumes *node.Volumes) []server.Method {
	return []server.Method{
		server.Unary("ListVolumesOnDisk", server.LimitLong,
			func(ctx context.Context, r *api.ListVolumesOnDiskRequest) (*api.ListVolumesOnDiskResponse, error) {
				ids, err := volumes.ListVolumesOnDisk(ctx, r.GetDiskNumber(), r.GetPartitionNumber())
				return &api.ListVolumesOnDiskResponse{VolumeIds: ids}, err
			}),
		server.Unary("MountVolume", server.LimitWrite,
			func(ctx context.Context, r *api.MountVolumeRequest) (*api.MountVolumeResponse, error) {
				return &api.MountVolumeResponse{}, volumes.MountVolume(ctx, r.GetVolumeId(), r.GetTargetPath())
			}),
		server.Unary("UnmountVolume", server.LimitWrite,
			func(ctx context.Context, r *api.UnmountVolumeRequest) (*api.UnmountVolumeResponse, error) {
				return &api.UnmountVolumeResponse{}, volumes.UnmountVolume(ctx, r.GetVolumeId(), r.GetTargetPath())
			}),
		server.Unary("IsVolumeFormatted", server.LimitRead,
			func(ctx context.Context, r *api.IsVolumeFormattedRequest) (*api.IsVolumeFormattedResponse, error) {
				formatted, err := volumes.IsVolumeFormatted(ctx, r.GetVolumeId())
				return &api.IsVolumeFormattedResponse{Formatted: formatted}, err
			}),
		server.Unary("FormatVolume", server.LimitLong,
			func(ctx context.Context, r *api.FormatVolumeRequest) (*api.FormatVolumeResponse, error) {
				return &api.FormatVolumeResponse{}, volumes.FormatVolume(ctx, r.GetVolumeId())
			}),
		server.Unary("ResizeVolume", server.LimitLong,
			func(ctx context.Context, r *api.ResizeVolumeRequest) (*api.ResizeVolumeResponse, error) {
				return &api.ResizeVolumeResponse{}, volumes.ResizeVolume(ctx, r.GetVolumeId(), r.GetSizeBytes())
			}),
		server.Unary("GetVolumeStats", server.LimitRead,
			func(ctx context.Context, r *api.GetVolumeStatsRequest) (*api.GetVolumeStatsResponse, error) {
				stats, err := volumes.GetVolumeStats(ctx, r.GetVolumeId())
				return &api.GetVolumeStatsResponse{TotalBytes: stats.TotalBytes, UsedBytes: stats.UsedBytes}, err
			}),
		server.Unary("GetDiskNumberFromVolumeID", server.LimitRead,
			func(ctx context.Context, r *api.GetDiskNumberFromVolumeIDRequest) (*api.GetDiskNumberFromVolumeIDResponse, error) {
				number, err := volumes.GetDiskNumberFromVolumeID(ctx, r.GetVolumeId())
				return &api.GetDiskNumberFromVolumeIDResponse{DiskNumber: number}, err
			}),
		server.Unary("GetVolumeIDFromTargetPath", server.LimitRead,
			func(ctx context.Context, r *api.GetVolumeIDFromTargetPathRequest) (*api.GetVolumeIDFromTargetPathResponse, error) {
				id, err := volumes.GetVolumeIDFromTargetPath(ctx, r.GetTargetPath())
				return &api.GetVolumeIDFromTargetPathResponse{VolumeId: id}, err
			}),
		server.Unary("GetClosestVolumeIDFromTargetPath", server.LimitRead,
			func(ctx context.Context, r *api.GetClosestVolumeIDFromTargetPathRequest) (
				*api.GetClosestVolumeIDFromTargetPathResponse, error) {
				id, err := volumes.GetClosestVolumeIDFromTargetPath(ctx, r.GetTargetPath())
				return &api.GetClosestVolumeIDFromTargetPathResponse{VolumeId: id}, err
			}),
		server.Unary("WriteVolumeCache", server.LimitWrite,
			func(ctx context.Context, r *api.WriteVolumeCacheRequest) (*api.WriteVolumeCacheResponse, error) {
				return &api.WriteVolumeCacheResponse{}, volumes.WriteVolumeCache(ctx, r.GetVolumeId())
			}),
	}
}
