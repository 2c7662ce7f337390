// SPDX-License-Identifier: Apache-2.0

package hostapi

import volumev2alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"

// ListVolumesOnDisk returns the volumes of a disk, or of one of its partitions; partition 0 means all. Data volumes
// come first. The list is never empty: a disk that is raw, offline or without a data partition is an error.
func (v VolumeAPI) ListVolumesOnDisk(diskNumber uint32, partitionNumber uint32) (volumeIDs []string, err error) {
	r, err := call(v, volumev2alpha1.VolumeClient.ListVolumesOnDisk,
		&volumev2alpha1.ListVolumesOnDiskRequest{DiskNumber: diskNumber, PartitionNumber: partitionNumber})
	return r.GetVolumeIds(), err
}

// MountVolume mounts a volume at a directory, which it makes if it is missing. The same volume there is success;
// another one, a link or a directory with content is an error.
func (v VolumeAPI) MountVolume(volumeID, targetPath string) error {
	_, err := call(v, volumev2alpha1.VolumeClient.MountVolume, &volumev2alpha1.MountVolumeRequest{VolumeId: volumeID,
		TargetPath: targetPath})
	return err
}

// UnmountVolume flushes a volume and unmounts it from a directory, which stays. If nothing is mounted there, that is
// success; another volume is an error.
func (v VolumeAPI) UnmountVolume(volumeID, targetPath string) error {
	_, err := call(v, volumev2alpha1.VolumeClient.UnmountVolume, &volumev2alpha1.UnmountVolumeRequest{VolumeId: volumeID,
		TargetPath: targetPath})
	return err
}

// IsVolumeFormatted reports whether Windows recognises a file system on a volume.
func (v VolumeAPI) IsVolumeFormatted(volumeID string) (bool, error) {
	r, err := call(v, volumev2alpha1.VolumeClient.IsVolumeFormatted,
		&volumev2alpha1.IsVolumeFormattedRequest{VolumeId: volumeID})
	return r.GetFormatted(), err
}

// FormatVolume makes an NTFS file system on a blank volume. An empty one is left alone, and a volume that
// holds files or anything else is refused.
func (v VolumeAPI) FormatVolume(volumeID string) error {
	_, err := call(v, volumev2alpha1.VolumeClient.FormatVolume, &volumev2alpha1.FormatVolumeRequest{VolumeId: volumeID})
	return err
}

// ResizeVolume grows a volume and its file system to a size in bytes; 0 means as large as its disk allows. It never
// makes a volume smaller.
func (v VolumeAPI) ResizeVolume(volumeID string, sizeBytes int64) error {
	_, err := call(v, volumev2alpha1.VolumeClient.ResizeVolume,
		&volumev2alpha1.ResizeVolumeRequest{VolumeId: volumeID, SizeBytes: sizeBytes})
	return err
}

// GetVolumeStats returns the size of a volume and how much of it is used, in bytes; both are 0 without a file system.
func (v VolumeAPI) GetVolumeStats(volumeID string) (totalBytes int64, usedBytes int64, err error) {
	r, err := call(v, volumev2alpha1.VolumeClient.GetVolumeStats,
		&volumev2alpha1.GetVolumeStatsRequest{VolumeId: volumeID})
	return r.GetTotalBytes(), r.GetUsedBytes(), err
}

// GetDiskNumberFromVolumeID returns the disk that a volume is on, mounted or not.
func (v VolumeAPI) GetDiskNumberFromVolumeID(volumeID string) (uint32, error) {
	r, err := call(v, volumev2alpha1.VolumeClient.GetDiskNumberFromVolumeID,
		&volumev2alpha1.GetDiskNumberFromVolumeIDRequest{VolumeId: volumeID})
	return r.GetDiskNumber(), err
}

// GetVolumeIDFromTargetPath returns the volume that is mounted at a directory, or at the one that links lead to. If
// none is, the error is csiproxy.ErrNotMounted.
func (v VolumeAPI) GetVolumeIDFromTargetPath(targetPath string) (string, error) {
	r, err := call(v, volumev2alpha1.VolumeClient.GetVolumeIDFromTargetPath,
		&volumev2alpha1.GetVolumeIDFromTargetPathRequest{TargetPath: targetPath})
	return r.GetVolumeId(), err
}

// WriteVolumeCache writes the cached data of a volume to its disk.
func (v VolumeAPI) WriteVolumeCache(volumeID string) error {
	_, err := call(v, volumev2alpha1.VolumeClient.WriteVolumeCache,
		&volumev2alpha1.WriteVolumeCacheRequest{VolumeId: volumeID})
	return err
}

// GetClosestVolumeIDFromTargetPath returns the volume that holds a path: mounted there, or at a directory above.
func (v VolumeAPI) GetClosestVolumeIDFromTargetPath(targetPath string) (string, error) {
	r, err := call(v, volumev2alpha1.VolumeClient.GetClosestVolumeIDFromTargetPath,
		&volumev2alpha1.GetClosestVolumeIDFromTargetPathRequest{TargetPath: targetPath})
	return r.GetVolumeId(), err
}
