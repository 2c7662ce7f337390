// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// Volumes is the volume group. A volume is named by its volume name, \\?\Volume{GUID}\. The name is accepted without
// the trailing backslash, without \\?\ and in upper or lower case, and always returned in the same form.
type Volumes struct{ node *Node }

// VolumeStats are the sizes of a volume's file system in bytes; both are 0 for a volume without one.
type VolumeStats struct {
	TotalBytes int64
	UsedBytes  int64
}

func parseVolumeID(text string) (winpath.VolumeID, error) {
	id, err := winpath.ParseVolumeID(text)
	if err != nil {
		return id, errdefs.InvalidArgument.WrapErrorf(err, reason.InvalidVolumeID, "%v", err)
	}
	return id, nil
}

// extents are the disk areas that a volume occupies.
type extents win32.VolumeDiskExtents

// disks returns the numbers of the disks that the extents lie on, each once.
func (e extents) disks() []uint32 {
	var numbers []uint32
	for _, extent := range e {
		if !slices.Contains(numbers, extent.DiskNumber) {
			numbers = append(numbers, extent.DiskNumber)
		}
	}
	return numbers
}

// volumeExtents asks Windows which disks a volume lies on.
func (o *op) volumeExtents(id winpath.VolumeID) (extents, error) {
	restore, err := o.TrackObject(operation.Volume(id))
	if err != nil {
		return nil, err
	}
	defer restore()
	extents, err := o.deviceExtents(id.Device())
	if errdefs.IsMissing(err) {
		return nil, winfs.VolumeNotFoundError(id, err)
	}
	if err != nil {
		return nil, errdefs.Errorf(err, "asking for the disks of volume %s", id)
	}
	if len(extents) == 0 { // seen under Wine: an empty answer
		return nil, errdefs.Unsupported.Errorf(reason.NoExtents, "Windows does not report which disk volume %s lies on", id)
	}
	return extents, nil
}

// deviceExtents asks Windows which disks a volume lies on that is named as a device.
func (o *op) deviceExtents(device string) (extents, error) {
	h, err := o.Kernel.OpenDevice(device, 0)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	buffer := make([]byte, 32)
	for {
		n, err := h.DeviceIoControl(win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, buffer)
		if errdefs.HasCode(err, win32.ERROR_MORE_DATA) {
			count, countErr := win32.VolumeDiskExtentsCount(buffer[:n])
			if needed := 8 + 24*int(count); countErr == nil && needed > len(buffer) && needed < 1<<20 {
				buffer = make([]byte, needed)
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		parsed, err := win32.ParseVolumeDiskExtents(buffer[:n])
		return extents(parsed), err
	}
}

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
func (v *Volumes) GetDiskNumberFromVolumeID(ctx context.Context, volumeID string) (uint32, error) {
	id, err := parseVolumeID(volumeID)
	if err != nil {
		return 0, err
	}
	return read(ctx, v.node, operation.On("GetDiskNumberFromVolumeID", operation.Volume(id)), func(o *op) (uint32, error) {
		extents, err := o.volumeExtents(id)
		if err != nil {
			return 0, err
		}
		disks := extents.disks()
		if len(disks) != 1 {
			return 0, errdefs.FailedPrecondition.Errorf(reason.VolumeSpansDisks, "volume %s lies on %d disks", id, len(disks))
		}
		return disks[0], nil
	})
}

// IsVolumeFormatted reports whether Windows recognises a file system on a volume. Only Windows' own "unrecognised"
// means no; a volume that is gone, locked or damaged is an error, because callers format on a no.
func (v *Volumes) IsVolumeFormatted(ctx context.Context, volumeID string) (bool, error) {
	id, err := parseVolumeID(volumeID)
	if err != nil {
		return false, err
	}
	return read(ctx, v.node, operation.On("IsVolumeFormatted", operation.Volume(id)), func(o *op) (bool, error) {
		fileSystem, err := o.fileSystem(id)
		return fileSystem != "", err
	})
}

// fileSystem returns the name of the file system on a volume, or "" if Windows recognises none.
func (o *op) fileSystem(id winpath.VolumeID) (string, error) {
	name, err := o.Kernel.VolumeInformation(id.String())
	switch {
	case errdefs.HasCode(err, win32.ERROR_UNRECOGNIZED_VOLUME):
		return "", nil
	case errdefs.IsMissing(err):
		return "", winfs.VolumeNotFoundError(id, err)
	case err != nil:
		return "", errdefs.Errorf(err, "asking for the file system of volume %s", id)
	case name == "RAW":
		return "", nil
	case name == "":
		return "", errdefs.Internal.Errorf(reason.NoFileSystemName,
			"Windows mounted volume %s but does not name its file system", id)
	default:
		return name, nil
	}
}

// GetVolumeStats returns the size of a volume's file system and how much of it is used, in bytes.
func (v *Volumes) GetVolumeStats(ctx context.Context, volumeID string) (VolumeStats, error) {
	id, err := parseVolumeID(volumeID)
	if err != nil {
		return VolumeStats{}, err
	}
	return read(ctx, v.node, operation.On("GetVolumeStats", operation.Volume(id)),
		func(o *op) (VolumeStats, error) { return o.volumeStats(id) })
}

func (o *op) volumeStats(id winpath.VolumeID) (VolumeStats, error) {
	total, free, err := o.Kernel.DiskFreeSpace(id.String())
	switch {
	case errdefs.HasCode(err, win32.ERROR_UNRECOGNIZED_VOLUME):
		return VolumeStats{}, nil
	case errdefs.IsMissing(err):
		return VolumeStats{}, winfs.VolumeNotFoundError(id, err)
	case err != nil:
		return VolumeStats{}, errdefs.Errorf(err, "reading the sizes of volume %s", id)
	case free > total:
		return VolumeStats{}, errdefs.Internal.Errorf(reason.Sizes, "volume %s reports %d bytes free of %d", id, free, total)
	}
	return VolumeStats{TotalBytes: int64(total), UsedBytes: int64(total - free)}, nil
}

// WriteVolumeCache writes the cached data of a volume to its disk.
func (v *Volumes) WriteVolumeCache(ctx context.Context, volumeID string) error {
	id, err := parseVolumeID(volumeID)
	if err != nil {
		return err
	}
	what := operation.On("WriteVolumeCache", operation.Volume(id))
	what.JoinQueuedOnly = true
	return v.node.change(ctx, what, func(o *op) error { return o.FlushVolume(id) })
}
