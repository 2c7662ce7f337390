// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"math"
	"slices"

	api "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// singleExtent returns the extent of a volume that occupies one partition, as all volumes made by this agent do.
func (o *op) singleExtent(id winpath.VolumeID) (win32.DiskExtent, error) {
	all, err := o.volumeExtents(id)
	if err != nil {
		return win32.DiskExtent{}, err
	}
	if len(all) != 1 {
		return win32.DiskExtent{}, errdefs.FailedPrecondition.Errorf(reason.VolumeSpansDisks,
			"volume %s has %d extents; only volumes of one partition are supported", id, len(all))
	}
	return all[0], nil
}

// GetDiskNumberFromVolumeID returns the number of the disk that a volume lies on, mounted or not.
func (v *Volumes) GetDiskNumberFromVolumeID(ctx context.Context,
	r *api.GetDiskNumberFromVolumeIDRequest) (*api.GetDiskNumberFromVolumeIDResponse, error) {
	return runOf(ctx, v.node, "GetDiskNumberFromVolumeID", r.GetVolumeId(), parseVolumeID, operation.Volume,
		func(o *op, id winpath.VolumeID) (*api.GetDiskNumberFromVolumeIDResponse, error) {
			number, err := o.singleDisk(id)
			return &api.GetDiskNumberFromVolumeIDResponse{DiskNumber: number}, err
		})
}

func (o *op) singleDisk(id winpath.VolumeID) (uint32, error) {
	extents, err := o.volumeExtents(id)
	if err != nil {
		return 0, err
	}
	disks := extents.disks()
	if len(disks) != 1 {
		return 0, errdefs.FailedPrecondition.Errorf(reason.VolumeSpansDisks, "volume %s lies on %d disks", id, len(disks))
	}
	return disks[0], nil
}

// GetVolumeStats returns how full a volume's file system is.
func (v *Volumes) GetVolumeStats(ctx context.Context,
	r *api.GetVolumeStatsRequest) (*api.GetVolumeStatsResponse, error) {
	return runOf(ctx, v.node, "GetVolumeStats", r.GetVolumeId(), parseVolumeID, operation.Volume,
		func(o *op, id winpath.VolumeID) (*api.GetVolumeStatsResponse, error) {
			stats, err := o.volumeStats(id)
			return &api.GetVolumeStatsResponse{TotalBytes: stats.Total, UsedBytes: stats.Used}, err
		})
}

func (o *op) volumeStats(id winpath.VolumeID) (Usage, error) {
	total, free, err := o.kernel.DiskFreeSpace(id.String())
	switch {
	case errdefs.HasCode(err, win32.ERROR_UNRECOGNIZED_VOLUME):
		return Usage{}, nil
	case errdefs.IsMissing(err):
		return Usage{}, winfs.VolumeNotFoundError(id, err)
	case err != nil:
		return Usage{}, errdefs.Errorf(err, "reading the sizes of volume %s", id)
	case free > total || total > math.MaxInt64:
		return Usage{}, errdefs.Internal.Errorf(reason.Sizes, "volume %s reports %d bytes free of %d", id, free, total)
	}
	return Usage{Total: int64(total), Used: int64(total - free), Available: int64(free)}, nil
}

// WriteVolumeCache writes the cached data of a volume to its disk.
func (v *Volumes) WriteVolumeCache(ctx context.Context,
	r *api.WriteVolumeCacheRequest) (*api.WriteVolumeCacheResponse, error) {
	return runOf(ctx, v.node, "WriteVolumeCache", r.GetVolumeId(), parseVolumeID, operation.Volume,
		func(o *op, id winpath.VolumeID) (*api.WriteVolumeCacheResponse, error) {
			return &api.WriteVolumeCacheResponse{}, o.fs.FlushVolume(id)
		})
}

// mountPoints returns the directories and drives at which a volume is mounted, by any program.
func (o *op) mountPoints(id winpath.VolumeID) ([]string, error) {
	paths, err := o.kernel.VolumePathNames(id.String())
	if errdefs.IsMissing(err) {
		return nil, nil // the volume has gone
	}
	return slices.DeleteFunc(paths, o.isStale), errdefs.Errorf(err, "looking for the mount points of volume %s", id)
}
