// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
)

// Tree returns an agent's storage as the endpoint shows it.
func Tree(ctx context.Context, a Agent) (*api.GetTreeResponse, error) {
	n, err := a.Node()
	if err != nil {
		return nil, err
	}
	return TreeOf(ctx, n)
}

// TreeOf returns a node's storage as the endpoint shows it.
func TreeOf(ctx context.Context, n *node.Node) (*api.GetTreeResponse, error) {
	tree, err := n.Tree(ctx)
	if err != nil {
		return nil, err
	}
	return treeMessage(tree), nil
}

// treeMessage returns a node's tree as the admin API sends it.
func treeMessage(tree *node.Tree) *api.GetTreeResponse {
	message := &api.GetTreeResponse{Unknown: tree.Unknown}
	for _, d := range tree.Disks {
		disk := &api.Disk{
			Number: d.Number, SizeBytes: d.SizeBytes, Style: d.Style,
			Online: d.Online, ReadOnly: d.ReadOnly, System: d.System,
			BusType: d.BusType, Adapter: d.Adapter, Bus: d.Bus, Target: d.Target, Lun: d.LUN,
			SerialNumber: d.SerialNumber, Page83: d.Page83, Unknown: d.Unknown,
		}
		for _, p := range d.Partitions {
			partition := &api.Partition{Number: p.Number, OffsetBytes: p.OffsetBytes, SizeBytes: p.SizeBytes, Kind: p.Kind,
				Attributes: p.Attributes, Unknown: p.Unknown}
			if v := p.Volume; v != nil {
				partition.Volume = &api.Volume{
					Id: v.ID, FileSystem: v.FileSystem, TotalBytes: v.TotalBytes, UsedBytes: v.UsedBytes, MountPoints: v.MountPoints,
					Unknown: v.Unknown,
				}
			}
			disk.Partitions = append(disk.Partitions, partition)
		}
		message.Disks = append(message.Disks, disk)
	}
	return message
}
