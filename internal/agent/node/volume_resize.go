// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"strconv"

	api "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// ResizeVolume grows a volume's partition and file system, as the proto says.
func (v *Volumes) ResizeVolume(ctx context.Context, r *api.ResizeVolumeRequest) (*api.ResizeVolumeResponse, error) {
	if r.GetSizeBytes() < 0 {
		return nil, errdefs.InvalidArgument.Errorf(reason.NegativeSize, "size %d is negative", r.GetSizeBytes())
	}
	id, err := v.resizeTarget(ctx, r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	what := operation.On("ResizeVolume", operation.Volume(id))
	what.Arguments = fmt.Sprintf("%d bytes", r.GetSizeBytes())
	return &api.ResizeVolumeResponse{},
		v.node.do(ctx, what, func(o *op) error { return o.resizeVolume(id, r.GetSizeBytes()) })
}

// resizeTarget parses the volume id. One driver passes a disk number.
func (v *Volumes) resizeTarget(ctx context.Context, volumeID string) (winpath.VolumeID, error) {
	if number, err := strconv.ParseUint(volumeID, 10, 32); err == nil {
		listed, err := v.ListVolumesOnDisk(ctx, &api.ListVolumesOnDiskRequest{DiskNumber: uint32(number)})
		if err != nil {
			return winpath.VolumeID{}, err
		}
		if len(listed.GetVolumeIds()) == 0 {
			return winpath.VolumeID{}, errdefs.FailedPrecondition.Errorf(reason.DiskRaw, "disk %d has no volume", number)
		}
		volumeID = listed.GetVolumeIds()[0]
	}
	return parseVolumeID(volumeID)
}

func (o *op) resizeVolume(id winpath.VolumeID, sizeBytes int64) error {
	extent, err := o.singleExtent(id)
	if err != nil {
		return err
	}
	if err := o.run.Lock(operation.Disk(extent.DiskNumber)); err != nil {
		return err
	}
	d, err := o.openDiskToChange(extent.DiskNumber, isDiskOf(id))
	if err != nil {
		return err
	}
	defer d.Close()
	if err := o.refuseSystemVolume(id, "resized"); err != nil {
		return err
	}
	fileSystem, err := o.extensible(id)
	if err != nil {
		return err
	}
	partition, err := o.growPartition(d, extent.StartingOffset, sizeBytes)
	if err != nil {
		return errdefs.Errorf(err, "growing the partition of volume %s on disk %d", id, d.number)
	}
	if fileSystem == "" { // nothing to extend
		return nil
	}
	return o.extendFileSystem(id, partition.Length)
}

// extensible returns the name of a volume's file system, "" for none. It refuses one that this agent cannot extend.
func (o *op) extensible(id winpath.VolumeID) (string, error) {
	fileSystem, err := o.fileSystem(id)
	if err == nil && fileSystem != "" && fileSystem != "NTFS" {
		err = errdefs.FailedPrecondition.Errorf(reason.CannotExtend,
			"volume %s holds the file system %s, which cannot be extended; only NTFS can", id, fileSystem)
	}
	return fileSystem, err
}

// extendFileSystem makes the file system fill its partition.
func (o *op) extendFileSystem(id winpath.VolumeID, partitionLength int64) error {
	h, err := o.kernel.OpenDevice(id.Device(), readWrite)
	if err != nil {
		return errdefs.Errorf(err, "opening volume %s to extend it", id)
	}
	defer h.Close()
	ntfs, err := query(h, win32.FSCTL_GET_NTFS_VOLUME_DATA, nil, 128, win32.ParseNTFSVolumeData)
	if err == nil && (ntfs.BytesPerSector == 0 || ntfs.BytesPerCluster == 0) {
		err = fmt.Errorf("sector size %d, cluster size %d", ntfs.BytesPerSector, ntfs.BytesPerCluster)
	}
	if err != nil {
		return errdefs.Errorf(err, "reading the size of the file system on volume %s", id)
	}
	sector := int64(ntfs.BytesPerSector)
	if partitionLength-ntfs.NumberSectors*sector <= int64(ntfs.BytesPerCluster) {
		return nil // full, but for a part of a cluster and the spare boot sector
	}
	if err := awaitLength(h, partitionLength); err != nil {
		return errdefs.Errorf(err, "waiting for volume %s to be as long as its partition", id)
	}
	sectors := partitionLength / sector
	_, err = h.DeviceIoControl(win32.FSCTL_EXTEND_VOLUME, win32.ExtendVolume(sectors), nil)
	// perhaps without the last sector, where NTFS keeps its spare boot sector
	if errdefs.HasCode(err, win32.ERROR_INVALID_PARAMETER) {
		_, err = h.DeviceIoControl(win32.FSCTL_EXTEND_VOLUME, win32.ExtendVolume(sectors-1), nil)
	}
	return errdefs.Errorf(err, "extending the file system on volume %s", id)
}

// awaitLength waits until a volume has learned that its partition has grown. When the time is over it returns no error:
// Windows refuses to extend a file system beyond its volume.
func awaitLength(volume kernel.Handle, partitionLength int64) error {
	var p operation.Backoff
	for {
		length, err := query(volume, win32.IOCTL_DISK_GET_LENGTH_INFO, nil, 8, win32.ParseLengthInformation)
		if err != nil || length >= partitionLength || !p.Wait(growTime) {
			return err
		}
	}
}
