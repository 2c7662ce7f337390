// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"context"
	"math"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// diskMethods returns the methods that control the disks of an emulated node and find its files on the host.
func diskMethods(n *emulated.Node) []server.Method {
	return []server.Method{
		server.Unary("AttachDisk", server.LimitWrite,
			func(_ context.Context, r *api.AttachDiskRequest) (*api.AttachDiskResponse, error) {
				spec, err := diskSpec(r)
				if err != nil {
					return nil, err
				}
				number, err := n.AttachDisk(spec)
				return &api.AttachDiskResponse{DiskNumber: number}, controlError(err)
			}),
		server.Unary("DetachDisk", server.LimitWrite,
			func(_ context.Context, r *api.DetachDiskRequest) (*api.DetachDiskResponse, error) {
				image, err := n.DetachDisk(r.GetDiskNumber())
				return &api.DetachDiskResponse{ImagePath: image}, controlError(err)
			}),
		server.Unary("ListDetachedDisks", server.LimitRead,
			func(context.Context, *api.ListDetachedDisksRequest) (*api.ListDetachedDisksResponse, error) {
				disks, err := n.DetachedDisks()
				r := &api.ListDetachedDisksResponse{}
				for _, d := range disks {
					r.Disks = append(r.Disks,
						&api.DetachedDisk{SerialNumber: d.SerialNumber, SizeBytes: d.SizeBytes, BundlePath: d.Bundle})
				}
				return r, controlError(err)
			}),
		server.Unary("GrowDisk", server.LimitWrite,
			func(_ context.Context, r *api.GrowDiskRequest) (*api.GrowDiskResponse, error) {
				return &api.GrowDiskResponse{}, controlError(n.GrowDisk(r.GetDiskNumber(), r.GetSizeBytes()))
			}),
		server.Unary("SetDiskState", server.LimitWrite,
			func(_ context.Context, r *api.SetDiskStateRequest) (*api.SetDiskStateResponse, error) {
				return &api.SetDiskStateResponse{}, controlError(n.SetDiskOnline(r.GetDiskNumber(), r.GetOnline()))
			}),
		server.Unary("SetDiskReadOnly", server.LimitWrite,
			func(_ context.Context, r *api.SetDiskReadOnlyRequest) (*api.SetDiskReadOnlyResponse, error) {
				return &api.SetDiskReadOnlyResponse{}, controlError(n.SetDiskReadOnly(r.GetDiskNumber(), r.GetReadOnly()))
			}),
		server.Unary("GetPath", server.LimitRead,
			func(_ context.Context, r *api.GetPathRequest) (*api.GetPathResponse, error) {
				path, err := n.HostPath(r.GetWindowsPath())
				return &api.GetPathResponse{HostPath: path}, controlError(err)
			}),
		server.Unary("Readlink", server.LimitRead,
			func(_ context.Context, r *api.ReadlinkRequest) (*api.ReadlinkResponse, error) {
				target, err := n.Readlink(r.GetWindowsPath())
				return &api.ReadlinkResponse{Target: target}, controlError(err)
			}),
	}
}

// diskSpec returns the disk that a request describes.
func diskSpec(r *api.AttachDiskRequest) (emulated.DiskSpec, error) {
	spec := emulated.DiskSpec{
		SizeBytes: emulated.Size(r.GetSizeBytes()), SerialNumber: r.GetSerialNumber(), LUNAuto: r.Lun == nil,
		Offline: r.GetOffline(), ReadOnly: r.GetReadOnly(), SectorSize: r.GetSectorSize(),
		ImagePath: r.GetImagePath(), BundlePath: r.GetBundlePath(), Formatted: emulated.Formatted(r.GetFormatted()),
	}
	if r.GetBusType() != "" {
		if err := spec.BusType.Parse(r.GetBusType()); err != nil {
			return spec, invalid("%v", err)
		}
	}
	for _, part := range []struct {
		name string
		from uint32
		to   *uint8
	}{{"adapter", r.GetAdapter(), &spec.Adapter}, {"bus", r.GetBus(), &spec.Bus}, {"target", r.GetTarget(), &spec.Target},
		{"LUN", r.GetLun(), &spec.LUN}} {
		if part.from > math.MaxUint8 {
			return spec, invalid("the %s %d is more than 255", part.name, part.from)
		}
		*part.to = uint8(part.from)
	}
	for _, i := range r.GetIdentifiers() {
		spec.Identifiers = append(spec.Identifiers, win32.StorageIdentifier{CodeSet: i.GetCodeSet(), Type: i.GetType(),
			Identifier: i.GetIdentifier()})
	}
	return spec, nil
}
