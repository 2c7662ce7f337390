// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// adminEndpoint is the admin endpoint with its services: Admin always, EmulatedNode where there is one.
func (a *Agent) adminEndpoint() server.Endpoint {
	services := []server.Service{{
		Name: admin.Admin_ServiceDesc.ServiceName,
		Methods: []server.Method{
			server.Unary("ListAPIs", server.LimitRead, a.listAPIs),
			server.Unary("GetTree", server.LimitRead, a.getTree),
			server.Unary("ListJournal", 2*journalPatience, a.listJournal),
			server.Unary("Inspect", server.LimitWrite, a.inspect),
		},
	}}
	if a.emulated != nil {
		services = append(services, a.emulatedNodeService())
	}
	return server.Endpoint{Name: AdminEndpoint, Services: services}
}

func (a *Agent) listAPIs(context.Context, *admin.ListAPIsRequest) (*admin.ListAPIsResponse, error) {
	response := &admin.ListAPIsResponse{}
	api, _ := a.serving()
	if api == nil {
		return response, nil
	}
	for _, e := range api.Endpoints() {
		response.Apis = append(response.Apis, &admin.API{Group: e.Group, Version: e.Version, Endpoint: api.Path(e)})
	}
	return response, nil
}

func (a *Agent) getTree(ctx context.Context, _ *admin.GetTreeRequest) (*admin.GetTreeResponse, error) {
	return a.Tree(ctx)
}

// Tree is the node's storage as the admin endpoint shows it.
func (a *Agent) Tree(ctx context.Context) (*admin.GetTreeResponse, error) {
	_, n := a.serving()
	if n == nil {
		return nil, notServed()
	}
	tree, err := n.Tree(ctx)
	if err != nil {
		return nil, err
	}
	return treeMessage(tree), nil
}

// treeMessage is a node's tree as the admin API sends it.
func treeMessage(tree *node.Tree) *admin.GetTreeResponse {
	message := &admin.GetTreeResponse{}
	for _, d := range tree.Disks {
		disk := &admin.Disk{
			Number: d.Number, SizeBytes: d.SizeBytes, Style: d.Style,
			Online: d.Online, ReadOnly: d.ReadOnly, System: d.System,
			BusType: d.BusType, Adapter: d.Adapter, Bus: d.Bus, Target: d.Target, Lun: d.LUN,
			SerialNumber: d.SerialNumber, Page83: d.Page83,
		}
		for _, p := range d.Partitions {
			partition := &admin.Partition{Number: p.Number, OffsetBytes: p.OffsetBytes, SizeBytes: p.SizeBytes, Kind: p.Kind}
			if v := p.Volume; v != nil {
				partition.Volume = &admin.Volume{
					Id: v.ID, FileSystem: v.FileSystem, TotalBytes: v.TotalBytes, UsedBytes: v.UsedBytes, MountPoints: v.MountPoints,
				}
			}
			disk.Partitions = append(disk.Partitions, partition)
		}
		message.Disks = append(message.Disks, disk)
	}
	return message
}
