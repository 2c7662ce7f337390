// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// emulatedNodeService is the control of the emulated node.
func (a *Agent) emulatedNodeService() server.Service {
	n := a.emulated
	return server.Service{
		Name: admin.EmulatedNode_ServiceDesc.ServiceName,
		Methods: slices.Concat(networkMethods(n), systemMethods(n), []server.Method{
			server.Unary("AttachDisk", server.LimitWrite, func(_ context.Context, r *admin.AttachDiskRequest) (*admin.AttachDiskResponse, error) {
				spec, err := diskSpec(r)
				if err != nil {
					return nil, err
				}
				number, err := n.AttachDisk(spec)
				return &admin.AttachDiskResponse{DiskNumber: number}, controlError(err)
			}),
			server.Unary("DetachDisk", server.LimitWrite, func(_ context.Context, r *admin.DetachDiskRequest) (*admin.DetachDiskResponse, error) {
				image, err := n.DetachDisk(r.GetDiskNumber())
				return &admin.DetachDiskResponse{ImagePath: image}, controlError(err)
			}),
			server.Unary("GrowDisk", server.LimitWrite, func(_ context.Context, r *admin.GrowDiskRequest) (*admin.GrowDiskResponse, error) {
				return &admin.GrowDiskResponse{}, controlError(n.GrowDisk(r.GetDiskNumber(), r.GetSizeBytes()))
			}),
			server.Unary("SetDiskState", server.LimitWrite, func(_ context.Context, r *admin.SetDiskStateRequest) (*admin.SetDiskStateResponse, error) {
				return &admin.SetDiskStateResponse{}, controlError(n.SetDiskOnline(r.GetDiskNumber(), r.GetOnline()))
			}),
			server.Unary("SetDiskReadOnly", server.LimitWrite, func(_ context.Context, r *admin.SetDiskReadOnlyRequest) (*admin.SetDiskReadOnlyResponse, error) {
				return &admin.SetDiskReadOnlyResponse{}, controlError(n.SetDiskReadOnly(r.GetDiskNumber(), r.GetReadOnly()))
			}),
			server.Unary("GetPath", server.LimitRead, func(_ context.Context, r *admin.GetPathRequest) (*admin.GetPathResponse, error) {
				path, err := n.HostPath(r.GetWindowsPath())
				return &admin.GetPathResponse{HostPath: path}, controlError(err)
			}),
			server.Unary("Readlink", server.LimitRead, func(_ context.Context, r *admin.ReadlinkRequest) (*admin.ReadlinkResponse, error) {
				target, err := n.Readlink(r.GetWindowsPath())
				return &admin.ReadlinkResponse{Target: target}, controlError(err)
			}),
			server.Unary("AddFault", server.LimitWrite, a.addFault),
			server.Unary("ListFaults", server.LimitRead, a.listFaults),
			server.Unary("RemoveFault", server.LimitWrite, a.removeFault),
			server.Unary("Reboot", server.LimitLong, func(ctx context.Context, _ *admin.RebootRequest) (*admin.RebootResponse, error) {
				return &admin.RebootResponse{}, a.Restart(context.WithoutCancel(ctx))
			}),
		}),
	}
}

// diskSpec is the disk that a request describes.
func diskSpec(r *admin.AttachDiskRequest) (emulated.DiskSpec, error) {
	spec := emulated.DiskSpec{
		SizeBytes: emulated.Size(r.GetSizeBytes()), SerialNumber: r.GetSerialNumber(), LUNAuto: r.Lun == nil,
		Offline: r.GetOffline(), ReadOnly: r.GetReadOnly(), SectorSize: r.GetSectorSize(),
		ImagePath: r.GetImagePath(), Formatted: emulated.Formatted(r.GetFormatted()),
	}
	if err := spec.BusType.Parse(cmp.Or(r.GetBusType(), "scsi")); err != nil {
		return spec, invalid("%v", err)
	}
	for _, part := range []struct {
		name string
		from uint32
		to   *uint8
	}{{"adapter", r.GetAdapter(), &spec.Adapter}, {"bus", r.GetBus(), &spec.Bus}, {"target", r.GetTarget(), &spec.Target}, {"LUN", r.GetLun(), &spec.LUN}} {
		if part.from > math.MaxUint8 {
			return spec, invalid("the %s %d is more than 255", part.name, part.from)
		}
		*part.to = uint8(part.from)
	}
	for _, i := range r.GetIdentifiers() {
		spec.Identifiers = append(spec.Identifiers, win32.StorageIdentifier{CodeSet: i.GetCodeSet(), Type: i.GetType(), Identifier: i.GetIdentifier()})
	}
	return spec, nil
}

func invalid(format string, args ...any) error {
	return &node.Error{Class: node.InvalidArgument, Reason: "INVALID_ARGUMENT", Message: fmt.Sprintf(format, args...)}
}

// controlError classifies an error of the emulated node's control.
func controlError(err error) error {
	if err == nil {
		return nil
	}
	class, reason := node.FailedPrecondition, "NOT_POSSIBLE"
	switch {
	case is(err, emulated.ErrNoSuchDisk, emulated.ErrNoSuchSMB, emulated.ErrNoSuchISCSI, emulated.ErrNoSuchService, emulated.ErrNoSuchSwitch,
		win32.ERROR_FILE_NOT_FOUND, win32.ERROR_PATH_NOT_FOUND, fs.ErrNotExist):
		class, reason = node.NotFound, "NOT_FOUND"
	case is(err, emulated.ErrInvalidSpec, emulated.ErrInvalidSMB, emulated.ErrInvalidService, emulated.ErrInvalidSwitch, emulated.ErrInvalidClock,
		win32.ERROR_INVALID_PARAMETER, win32.ERROR_INVALID_NAME):
		class, reason = node.InvalidArgument, "INVALID_ARGUMENT"
	}
	return &node.Error{Class: class, Reason: reason, Message: err.Error(), Err: err}
}

func is(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
