// SPDX-License-Identifier: Apache-2.0

package apis

import (
	"context"
	"strconv"

	api "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	v1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// diskMethods returns the methods of disk v1, the group's hub.
func diskMethods(n *node.Node) []server.Method {
	return []server.Method{
		unary(n, "ListDiskLocations", server.LimitRead,
			func(ctx context.Context, n *node.Node, _ *api.ListDiskLocationsRequest) (*api.ListDiskLocationsResponse, error) {
				found, err := n.Disks.ListDiskLocations(ctx)
				locations := make(map[uint32]*api.DiskLocation, len(found))
				for number, l := range found {
					locations[number] = &api.DiskLocation{Adapter: l.Adapter, Bus: l.Bus, Target: l.Target, LUNID: l.LUNID}
				}
				return &api.ListDiskLocationsResponse{DiskLocations: locations}, err
			}),
		unary(n, "PartitionDisk", server.LimitLong,
			func(ctx context.Context, n *node.Node, r *api.PartitionDiskRequest) (*api.PartitionDiskResponse, error) {
				return &api.PartitionDiskResponse{}, n.Disks.PartitionDisk(ctx, r.GetDiskNumber())
			}),
		unary(n, "Rescan", server.LimitLong,
			func(ctx context.Context, n *node.Node, _ *api.RescanRequest) (*api.RescanResponse, error) {
				return &api.RescanResponse{}, n.Disks.Rescan(ctx)
			}),
		unary(n, "ListDiskIDs", server.LimitRead,
			func(ctx context.Context, n *node.Node, _ *api.ListDiskIDsRequest) (*api.ListDiskIDsResponse, error) {
				found, err := n.Disks.ListDiskIDs(ctx)
				ids := make(map[uint32]*api.DiskIDs, len(found))
				for number, id := range found {
					ids[number] = &api.DiskIDs{Page83: id.Page83, SerialNumber: id.SerialNumber}
				}
				return &api.ListDiskIDsResponse{DiskIDs: ids}, err
			}),
		unary(n, "GetDiskStats", server.LimitRead,
			func(ctx context.Context, n *node.Node, r *api.GetDiskStatsRequest) (*api.GetDiskStatsResponse, error) {
				total, err := n.Disks.GetDiskStats(ctx, r.GetDiskNumber())
				return &api.GetDiskStatsResponse{TotalBytes: total}, err
			}),
		unary(n, "SetDiskState", server.LimitLong,
			func(ctx context.Context, n *node.Node, r *api.SetDiskStateRequest) (*api.SetDiskStateResponse, error) {
				return &api.SetDiskStateResponse{}, n.Disks.SetDiskState(ctx, r.GetDiskNumber(), r.GetIsOnline())
			}),
		unary(n, "GetDiskState", server.LimitRead,
			func(ctx context.Context, n *node.Node, r *api.GetDiskStateRequest) (*api.GetDiskStateResponse, error) {
				online, err := n.Disks.GetDiskState(ctx, r.GetDiskNumber())
				return &api.GetDiskStateResponse{IsOnline: online}, err
			}),
	}
}

// getDiskNumberByName returns the one method of an old version that the hub does not have.
func getDiskNumberByName(n *node.Node) server.Method {
	return unary(n, "GetDiskNumberByName", server.LimitRead,
		func(ctx context.Context, n *node.Node,
			r *v1alpha1.GetDiskNumberByNameRequest) (*v1alpha1.GetDiskNumberByNameResponse, error) {
			number, err := n.Disks.GetDiskNumberByName(ctx, r.GetDiskName())
			return &v1alpha1.GetDiskNumberByNameResponse{DiskNumber: strconv.FormatUint(uint64(number), 10)}, err
		})
}
