// SPDX-License-Identifier: Apache-2.0

package apis

import (
	"context"
	"strconv"

	api "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	v1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// diskMethods returns the methods of disk v1, the group's hub.
func diskMethods(disks *node.Disks) []server.Method {
	return []server.Method{
		server.Unary("ListDiskLocations", server.LimitRead,
			func(ctx context.Context, _ *api.ListDiskLocationsRequest) (*api.ListDiskLocationsResponse, error) {
				found, err := disks.ListDiskLocations(ctx)
				locations := make(map[uint32]*api.DiskLocation, len(found))
				for number, l := range found {
					locations[number] = &api.DiskLocation{Adapter: l.Adapter, Bus: l.Bus, Target: l.Target, LUNID: l.LUNID}
				}
				return &api.ListDiskLocationsResponse{DiskLocations: locations}, err
			}),
		server.Unary("PartitionDisk", server.LimitLong,
			func(ctx context.Context, r *api.PartitionDiskRequest) (*api.PartitionDiskResponse, error) {
				return &api.PartitionDiskResponse{}, disks.PartitionDisk(ctx, r.GetDiskNumber())
			}),
		server.Unary("Rescan", server.LimitLong,
			func(ctx context.Context, _ *api.RescanRequest) (*api.RescanResponse, error) {
				return &api.RescanResponse{}, disks.Rescan(ctx)
			}),
		server.Unary("ListDiskIDs", server.LimitRead,
			func(ctx context.Context, _ *api.ListDiskIDsRequest) (*api.ListDiskIDsResponse, error) {
				found, err := disks.ListDiskIDs(ctx)
				ids := make(map[uint32]*api.DiskIDs, len(found))
				for number, id := range found {
					ids[number] = &api.DiskIDs{Page83: id.Page83, SerialNumber: id.SerialNumber}
				}
				return &api.ListDiskIDsResponse{DiskIDs: ids}, err
			}),
		server.Unary("GetDiskStats", server.LimitRead,
			func(ctx context.Context, r *api.GetDiskStatsRequest) (*api.GetDiskStatsResponse, error) {
				total, err := disks.GetDiskStats(ctx, r.GetDiskNumber())
				return &api.GetDiskStatsResponse{TotalBytes: total}, err
			}),
		server.Unary("SetDiskState", server.LimitLong,
			func(ctx context.Context, r *api.SetDiskStateRequest) (*api.SetDiskStateResponse, error) {
				return &api.SetDiskStateResponse{}, disks.SetDiskState(ctx, r.GetDiskNumber(), r.GetIsOnline())
			}),
		server.Unary("GetDiskState", server.LimitRead,
			func(ctx context.Context, r *api.GetDiskStateRequest) (*api.GetDiskStateResponse, error) {
				online, err := disks.GetDiskState(ctx, r.GetDiskNumber())
				return &api.GetDiskStateResponse{IsOnline: online}, err
			}),
	}
}

// getDiskNumberByName returns the one method of an old version that the hub does not have.
func getDiskNumberByName(disks *node.Disks) server.Method {
	return server.Unary("GetDiskNumberByName", server.LimitRead,
		func(ctx context.Context, r *v1alpha1.GetDiskNumberByNameRequest) (*v1alpha1.GetDiskNumberByNameResponse, error) {
			number, err := disks.GetDiskNumberByName(ctx, r.GetDiskName())
			return &v1alpha1.GetDiskNumberByNameResponse{DiskNumber: strconv.FormatUint(uint64(number), 10)}, err
		})
}
