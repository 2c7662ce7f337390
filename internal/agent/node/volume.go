// SPDX-License-Identifier: Apache-2.0

package node

import (
	"slices"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// Volumes is the volume group. A volume is named by its volume name, \\?\Volume{GUID}\. The name is accepted without
// the trailing backslash, without \\?\ and in upper or lower case, and always returned in the same form.
type Volumes struct{ node *Node }

var volumeMethods = []Method{
	fresh(changes("ListVolumesOnDisk", LimitLong, (*Volumes).ListVolumesOnDisk, nil)), // it brings volumes online
	changes("MountVolume", LimitWrite, (*Volumes).MountVolume,
		fields{"volume_id": NamesNothing, "target_path": NamesPath}),
	changes("UnmountVolume", LimitWrite, (*Volumes).UnmountVolume,
		fields{"volume_id": NamesNothing, "target_path": NamesPath}),
	reads("IsVolumeFormatted", (*Volumes).IsVolumeFormatted, fields{"volume_id": NamesNothing}),
	changes("FormatVolume", LimitLong, (*Volumes).FormatVolume, fields{"volume_id": NamesNothing}),
	fresh(changes("ResizeVolume", LimitLong, (*Volumes).ResizeVolume, fields{"volume_id": NamesNothing})),
	reads("GetVolumeStats", (*Volumes).GetVolumeStats, fields{"volume_id": NamesNothing}),
	reads("GetDiskNumberFromVolumeID", (*Volumes).GetDiskNumberFromVolumeID, fields{"volume_id": NamesNothing}),
	reads("GetVolumeIDFromTargetPath", (*Volumes).GetVolumeIDFromTargetPath, fields{"target_path": NamesPath}),
	reads("GetClosestVolumeIDFromTargetPath", (*Volumes).GetClosestVolumeIDFromTargetPath,
		fields{"target_path": NamesPath}),
	fresh(changes("WriteVolumeCache", LimitWrite, (*Volumes).WriteVolumeCache, fields{"volume_id": NamesNothing})),
}

func parseVolumeID(text string) (winpath.VolumeID, error) {
	id, err := winpath.ParseVolumeID(text)
	if err != nil {
		return id, errdefs.InvalidArgument.WrapErrorf(err, reason.InvalidVolumeID, "%v", err)
	}
	return id, nil
}

// targetPath parses the path argument of the volume group, which accepts / for \.
func (n *Node) targetPath(text string) (winpath.Path, error) {
	if text == "" {
		return winpath.Path{}, errdefs.InvalidArgument.Errorf(reason.InvalidPath, "target path is empty")
	}
	return n.slashedPath(text)
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
	restore, err := o.run.TrackObject(operation.Volume(id))
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
	found, err := ask(o, device, win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, 32, win32.ParseVolumeDiskExtents)
	return extents(found), err
}

// fileSystem returns the name of a volume's file system, or "" if Windows knows none. It gives a new volume time.
func (o *op) fileSystem(id winpath.VolumeID) (string, error) {
	var p operation.Backoff
	name, err := o.kernel.VolumeInformation(id.String())
	for errdefs.HasCode(err, win32.ERROR_NOT_READY, win32.ERROR_INVALID_PARAMETER) && p.Wait(transientTime) {
		name, err = o.kernel.VolumeInformation(id.String())
	}
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
