// SPDX-License-Identifier: Apache-2.0

package hostapi

import "regexp"

// HostAPI gives access to the volumes of a machine. A volume's id is its volume name, \\?\Volume{GUID}\. VolumeAPI says
// what the methods do.
type HostAPI interface {
	ListVolumesOnDisk(diskNumber uint32, partitionNumber uint32) (volumeIDs []string, err error)
	MountVolume(volumeID, targetPath string) error
	UnmountVolume(volumeID, targetPath string) error
	IsVolumeFormatted(volumeID string) (bool, error)
	FormatVolume(volumeID string) error
	ResizeVolume(volumeID string, sizeBytes int64) error
	GetVolumeStats(volumeID string) (totalBytes int64, usedBytes int64, err error)
	GetDiskNumberFromVolumeID(volumeID string) (uint32, error)
	GetVolumeIDFromTargetPath(targetPath string) (string, error)
	WriteVolumeCache(volumeID string) error
	GetClosestVolumeIDFromTargetPath(targetPath string) (string, error)
}

// VolumeRegexp finds the name of a volume in a text.
var VolumeRegexp = regexp.MustCompile(`Volume\{[\w-]*\}`)
