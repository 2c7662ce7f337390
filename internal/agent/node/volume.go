// SPDX-License-Identifier: Apache-2.0

package node

import (
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// Volumes is the volume group. A volume is named by its volume name, \\?\Volume{GUID}\. The name is accepted without
// the trailing backslash, without \\?\ and in upper or lower case, and always returned in the same form.
type Volumes struct{ node *Node }

var volumeMethods = []Method{
	changes("ListVolumesOnDisk", LimitLong, (*Volumes).ListVolumesOnDisk, nil), // it brings volumes online
	changes("MountVolume", LimitWrite, (*Volumes).MountVolume,
		fields{"volume_id": NamesNothing, "target_path": NamesPath}),
	changes("UnmountVolume", LimitWrite, (*Volumes).UnmountVolume,
		fields{"volume_id": NamesNothing, "target_path": NamesPath}),
	reads("IsVolumeFormatted", (*Volumes).IsVolumeFormatted, fields{"volume_id": NamesNothing}),
	changes("FormatVolume", LimitLong, (*Volumes).FormatVolume, fields{"volume_id": NamesNothing}),
	changes("ResizeVolume", LimitLong, (*Volumes).ResizeVolume, fields{"volume_id": NamesNothing}),
	reads("GetVolumeStats", (*Volumes).GetVolumeStats, fields{"volume_id": NamesNothing}),
	reads("GetDiskNumberFromVolumeID", (*Volumes).GetDiskNumberFromVolumeID, fields{"volume_id": NamesNothing}),
	reads("GetVolumeIDFromTargetPath", (*Volumes).GetVolumeIDFromTargetPath, fields{"target_path": NamesPath}),
	reads("GetClosestVolumeIDFromTargetPath", (*Volumes).GetClosestVolumeIDFromTargetPath,
		fields{"target_path": NamesPath}),
	changes("WriteVolumeCache", LimitWrite, (*Volumes).WriteVolumeCache, fields{"volume_id": NamesNothing}),
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
