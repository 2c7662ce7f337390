// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"strconv"

	old "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1beta2"
	hub "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
)

// volume is the volume group. Up to v1beta2, volumes are listed by a string disk id, and most methods have other names.
func volume() Group {
	const strings = "v1alpha1 v1beta1 v1beta2"
	return Group{Name: "volume", Service: "Volume", Hub: "v2alpha1", Routes: append([]Route{
		{strings, "ListVolumesOnDisk", Mapped, "ListVolumesOnDisk", listVolumesOnDisk()},
		{strings, "MountVolume", Same, "MountVolume", nil},
		{strings, "DismountVolume", Same, "UnmountVolume", nil},
		{strings, "IsVolumeFormatted", Same, "IsVolumeFormatted", nil},
		{strings, "FormatVolume", Same, "FormatVolume", nil},
		{strings, "ResizeVolume", Same, "ResizeVolume", nil},
		{"v1beta1 v1beta2", "VolumeStats", Same, "GetVolumeStats", nil},
		{"v1beta1 v1beta2", "GetVolumeDiskNumber", Mapped, "GetDiskNumberFromVolumeID", volumeDiskNumber()},
		{"v1beta1 v1beta2", "GetVolumeIDFromMount", Same, "GetVolumeIDFromTargetPath", nil},
		{"v1beta2", "WriteVolumeCache", Same, "WriteVolumeCache", nil},
	}, same("v1beta3 v1", "ListVolumesOnDisk MountVolume UnmountVolume IsVolumeFormatted FormatVolume ResizeVolume "+
		"GetVolumeStats GetDiskNumberFromVolumeID GetVolumeIDFromTargetPath WriteVolumeCache")...)}
}

func listVolumesOnDisk() *Mapping {
	return between(
		func(o *old.ListVolumesOnDiskRequest, h *hub.ListVolumesOnDiskRequest, c *conversion) {
			if !c.up && h.GetPartitionNumber() != 0 {
				c.fail(&UnsupportedError{Group: "volume", Version: "v1beta3", What: "listing the volumes of one partition"})
			}
			c.diskNumber("disk_id", &o.DiskId, &h.DiskNumber)
		},
		func(o *old.ListVolumesOnDiskResponse, h *hub.ListVolumesOnDiskResponse, c *conversion) {
			field(c, &o.VolumeIds, &h.VolumeIds)
		})
}

func volumeDiskNumber() *Mapping {
	return between(
		func(o *old.VolumeDiskNumberRequest, h *hub.GetDiskNumberFromVolumeIDRequest, c *conversion) {
			field(c, &o.VolumeId, &h.VolumeId)
		},
		func(o *old.VolumeDiskNumberResponse, h *hub.GetDiskNumberFromVolumeIDResponse, c *conversion) {
			if !c.up {
				o.DiskNumber = int64(h.GetDiskNumber())
				return
			}
			id := strconv.FormatInt(o.GetDiskNumber(), 10)
			c.diskNumber("diskNumber", &id, &h.DiskNumber)
		})
}
