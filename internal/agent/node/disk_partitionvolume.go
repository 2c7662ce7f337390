// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// partitionDevice returns the name of a partition as a device, which opens its volume, offline or not.
func partitionDevice(disk, partition uint32) string {
	return fmt.Sprintf(`\\?\GLOBALROOT\Device\Harddisk%d\Partition%d`, disk, partition)
}

// partitionVolumes asks partitions for their volumes. The answers are in the order of the partitions.
func (o *op) partitionVolumes(disk uint32, partitions []win32.Partition) []operation.Answer[diskVolume] {
	object := func(p win32.Partition) operation.Object {
		return operation.VolumeDevice(partitionDevice(disk, p.Number))
	}
	return forEach(o, partitions, object,
		func(o *op, p win32.Partition) (diskVolume, error) { return o.partitionVolume(disk, p) })
}

// errNoName means that the mount manager has no name for a volume, or none yet.
var errNoName = errors.New("the mount manager has no name for the volume")

// isLate reports whether an error of partitionVolume is that of a volume that has yet to arrive, or is offline.
func isLate(err error) bool {
	return errdefs.IsMissing(err) || errors.Is(err, errNoName) || errdefs.HasCode(err, win32.ERROR_NOT_READY)
}

// partitionVolume returns the volume of one partition, which needs no drive letter, without asking other volumes. The
// driver of the volume knows its device's name, and the mount manager the volume names of that device. The answer is
// believed only if the volume says that it is exactly this partition.
//
// https://learn.microsoft.com/windows-hardware/drivers/ddi/mountmgr/ni-mountmgr-ioctl_mountdev_query_device_name
// https://learn.microsoft.com/windows-hardware/drivers/ddi/mountmgr/ni-mountmgr-ioctl_mountmgr_query_points
func (o *op) partitionVolume(disk uint32, p win32.Partition) (diskVolume, error) {
	device, err := ask(o, partitionDevice(disk, p.Number), win32.IOCTL_MOUNTDEV_QUERY_DEVICE_NAME, nil,
		1024, win32.ParseMountdevName)
	if err != nil {
		return diskVolume{}, err
	}
	id, err := o.volumeWithDevice(device)
	if err != nil {
		return diskVolume{}, err
	}
	extents, err := o.volumeExtents(id)
	if err == nil && (len(extents) != 1 || extents[0].DiskNumber != disk ||
		extents[0].StartingOffset != p.StartingOffset) {
		err = fmt.Errorf("volume %s, of %s, is not the partition at byte %d: %+v", id, device, p.StartingOffset, extents)
	}
	if err != nil {
		return diskVolume{}, err
	}
	return diskVolume{id, extents[0]}, nil
}

// volumeWithDevice returns the volume whose device has a name like \Device\HarddiskVolume1.
func (o *op) volumeWithDevice(device string) (winpath.VolumeID, error) {
	points, err := ask(o, kernel.MountManager, win32.IOCTL_MOUNTMGR_QUERY_POINTS,
		win32.MountPoint{Device: device}.Bytes(), 1024, win32.ParseMountPoints)
	if errdefs.HasCode(err, win32.ERROR_INVALID_PARAMETER) { // it does not know the device
		err = errNoName
	}
	if err != nil {
		return winpath.VolumeID{}, err
	}
	for _, p := range points { // the first one is that of GetVolumeNameForVolumeMountPointW
		if name, ok := strings.CutPrefix(p.Link, `\??\`); ok {
			if id, err := winpath.ParseVolumeID(name); err == nil {
				return id, nil
			}
		}
	}
	return winpath.VolumeID{}, errNoName
}
