// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"math"
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
		func(o *old.ListVolumesOnDiskRequest, h *hub.ListVolumesOnDiskRequest) error {
			return diskNumber("disk_id", o.GetDiskId(), &h.DiskNumber)
		},
		func(h *hub.ListVolumesOnDiskResponse, o *old.ListVolumesOnDiskResponse) {
			o.VolumeIds = h.GetVolumeIds()
		},
		func(h *hub.ListVolumesOnDiskRequest, o *old.ListVolumesOnDiskRequest) error {
			if h.GetPartitionNumber() != 0 {
				return &UnsupportedError{Group: "volume", Version: "v1beta3", What: "listing the volumes of one partition"}
			}
			o.DiskId = diskID(h.GetDiskNumber())
			return nil
		},
		func(o *old.ListVolumesOnDiskResponse, h *hub.ListVolumesOnDiskResponse) error {
			h.VolumeIds = o.GetVolumeIds()
			return nil
		})
}

func volumeDiskNumber() *Mapping {
	return between(
		func(o *old.VolumeDiskNumberRequest, h *hub.GetDiskNumberFromVolumeIDRequest) error {
			h.VolumeId = o.GetVolumeId()
			return nil
		},
		func(h *hub.GetDiskNumberFromVolumeIDResponse, o *old.VolumeDiskNumberResponse) {
			o.DiskNumber = int64(h.GetDiskNumber())
		},
		func(h *hub.GetDiskNumberFromVolumeIDRequest, o *old.VolumeDiskNumberRequest) error {
			o.VolumeId = h.GetVolumeId()
			return nil
		},
		func(o *old.VolumeDiskNumberResponse, h *hub.GetDiskNumberFromVolumeIDResponse) error {
			if n := o.GetDiskNumber(); n < 0 || n > math.MaxUint32 {
				return &ArgumentError{Field: "diskNumber", Value: strconv.FormatInt(n, 10), Problem: "is not a disk number"}
			}
			h.DiskNumber = uint32(o.GetDiskNumber())
			return nil
		})
}
