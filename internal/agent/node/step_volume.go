// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// mounted is the volume at a path, or at the end of links there. Without one it is the zero value.
type mounted struct {
	id      winpath.VolumeID
	extents extents
	gone    bool // the volume or its disk is not present
}

// mountedAt returns what is mounted at a path. A path or volume that is not there is no error.
func (o *op) mountedAt(path winpath.Path) (m mounted, err error) {
	m.id, err = o.volumeMountedAt(path)
	if errdefs.HasReason(err, reason.NotMounted, reason.LinkRefused, reason.OnShare) {
		return mounted{}, nil
	}
	if err == nil {
		m.extents, err = o.volumeExtents(m.id)
	}
	if m.gone = errdefs.HasReason(err, reason.VolumeNotFound, reason.VolumeGone); m.gone {
		err = nil
	}
	return m, err
}

// stepSize is the size of a volume in bytes.
type stepSize struct{ disk, fileSystem int64 }

func (o *op) sizeOf(disk uint32, volume winpath.VolumeID) (size stepSize, err error) {
	if size.disk, err = o.diskBytes(disk); err != nil {
		return size, err
	}
	stats, err := o.volumeStats(volume)
	size.fileSystem = stats.Total
	return size, err
}

// Publish makes target_path a link to source_path, as the proto says.
func (s *Steps) Publish(ctx context.Context, r *api.PublishRequest) (*api.PublishResponse, error) {
	source, target, err := s.node.linkPaths(s.node.targetPath, r.GetSourcePath(), r.GetTargetPath())
	if err != nil {
		return nil, err
	}
	what := stepAt("Publish", target, r)
	what.Arguments = "source=" + source.String()
	return &api.PublishResponse{}, s.node.do(ctx, what, func(o *op) error {
		return o.linkAt(target, func() error { return o.createSymlink(source, target) })
	})
}

// Expand grows the volume at target_path as far as its disk allows, as the proto says.
func (s *Steps) Expand(ctx context.Context, r *api.ExpandRequest) (*api.ExpandResponse, error) {
	if r.GetSizeBytes() < 0 {
		return nil, errdefs.InvalidArgument.Errorf(reason.NegativeSize, "the size %d is negative", r.GetSizeBytes())
	}
	target, err := s.node.targetPath(r.GetTargetPath())
	if err != nil {
		return nil, err
	}
	rescan := operation.On("RescanDevices", operation.Devices)
	rescan.JoinQueuedOnly = true // the disk may have grown after one that runs
	if err := s.node.change(ctx, rescan, (*op).rescanDevices); err != nil {
		return nil, err
	}
	return run(ctx, s.node, stepAt("Expand", target, r), func(o *op) (*api.ExpandResponse, error) {
		size, err := o.expand(target, r.GetSizeBytes())
		return &api.ExpandResponse{DiskBytes: size.disk, TotalBytes: size.fileSystem}, err
	})
}

func (o *op) expand(target winpath.Path, bytes int64) (stepSize, error) {
	id, err := o.volumeMountedAt(target)
	if errdefs.HasReason(err, reason.NotMounted) {
		err = errdefs.NotFound.WrapErrorf(err, reason.NotMounted, "neither a volume nor a share is mounted at %s",
			target)
	}
	if err != nil {
		return stepSize{}, err
	}
	extent, err := o.singleExtent(id)
	if err != nil {
		return stepSize{}, err
	}
	size, err := o.sizeOf(extent.DiskNumber, id)
	if err != nil {
		return size, err
	}
	if size.disk < bytes { // Unavailable, as kubelet gives up an expansion after OutOfRange and FailedPrecondition
		return size, errdefs.Unavailable.Errorf(reason.DiskTooSmall,
			"the disk is too small: disk %d has %d bytes, and %d are asked for", extent.DiskNumber, size.disk, bytes)
	}
	if err := o.run.Phase(func() error { return o.resizeVolume(id, 0) }, operation.Volume(id)); err != nil {
		return size, err
	}
	return o.sizeOf(extent.DiskNumber, id)
}
