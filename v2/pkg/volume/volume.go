// SPDX-License-Identifier: Apache-2.0

package volume

import (
	"context"
	"errors"

	volumeapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// Volume gives access to the volumes of a machine.
type Volume struct {
	hostAPI volumeapi.HostAPI
}

// Interface has the methods of Volume.
type Interface interface {
	// FormatVolume makes an NTFS file system on a volume. An empty one is left alone, and one that holds files is refused.
	FormatVolume(context.Context, *FormatVolumeRequest) (*FormatVolumeResponse, error)
	// GetClosestVolumeIDFromTargetPath returns the volume that holds a path: mounted there, or at a directory above.
	GetClosestVolumeIDFromTargetPath(context.Context, *GetClosestVolumeIDFromTargetPathRequest) (
		*GetClosestVolumeIDFromTargetPathResponse, error)
	// GetDiskNumberFromVolumeID returns the disk that a volume is on, mounted or not.
	GetDiskNumberFromVolumeID(context.Context, *GetDiskNumberFromVolumeIDRequest) (
		*GetDiskNumberFromVolumeIDResponse, error)
	// GetVolumeIDFromTargetPath returns the volume that is mounted at a directory, or at the one that links lead to.
	GetVolumeIDFromTargetPath(context.Context, *GetVolumeIDFromTargetPathRequest) (
		*GetVolumeIDFromTargetPathResponse, error)
	// GetVolumeStats returns the size of a volume and how much of it is used.
	GetVolumeStats(context.Context, *GetVolumeStatsRequest) (*GetVolumeStatsResponse, error)
	// IsVolumeFormatted reports whether a volume has a file system.
	IsVolumeFormatted(context.Context, *IsVolumeFormattedRequest) (*IsVolumeFormattedResponse, error)
	// ListVolumesOnDisk returns the volumes of a disk, or of one of its partitions; partition 0 means all. Data volumes
	// come first.
	ListVolumesOnDisk(context.Context, *ListVolumesOnDiskRequest) (*ListVolumesOnDiskResponse, error)
	// MountVolume mounts a volume at a directory. The same volume there is success; another one is an error.
	MountVolume(context.Context, *MountVolumeRequest) (*MountVolumeResponse, error)
	// ResizeVolume makes a volume and its file system larger. It is never made smaller.
	ResizeVolume(context.Context, *ResizeVolumeRequest) (*ResizeVolumeResponse, error)
	// UnmountVolume flushes a volume and unmounts it from a directory, which stays. If nothing is mounted there, that is
	// success.
	UnmountVolume(context.Context, *UnmountVolumeRequest) (*UnmountVolumeResponse, error)
	// WriteVolumeCache writes the cached data of a volume to its disk.
	WriteVolumeCache(context.Context, *WriteVolumeCacheRequest) (*WriteVolumeCacheResponse, error)
}

var _ Interface = (*Volume)(nil)

// New returns the volumes of a machine.
func New(hostAPI volumeapi.HostAPI) (*Volume, error) {
	if hostAPI == nil {
		return nil, errors.New("volume.New needs a HostAPI")
	}
	return &Volume{hostAPI: hostAPI}, nil
}

// within returns the machine for a call; a HostAPI of ours takes the call's context.
func (v *Volume) within(ctx context.Context) volumeapi.HostAPI {
	if own, ok := v.hostAPI.(volumeapi.VolumeAPI); ok {
		return own.WithContext(ctx)
	}
	return v.hostAPI
}

// ListVolumesOnDisk returns the volumes of a disk, or of one of its partitions; partition 0 means all. Data volumes
// come first.
func (v *Volume) ListVolumesOnDisk(ctx context.Context,
	request *ListVolumesOnDiskRequest) (*ListVolumesOnDiskResponse, error) {
	volumes, err := v.within(ctx).ListVolumesOnDisk(request.DiskNumber, request.PartitionNumber)
	return &ListVolumesOnDiskResponse{VolumeIDs: volumes}, err
}

// MountVolume mounts a volume at a directory. The same volume there is success; another one is an error.
func (v *Volume) MountVolume(ctx context.Context, request *MountVolumeRequest) (*MountVolumeResponse, error) {
	return &MountVolumeResponse{}, v.within(ctx).MountVolume(request.VolumeID, request.TargetPath)
}

// UnmountVolume flushes a volume and unmounts it from a directory, which stays. If nothing is mounted there, that is
// success.
func (v *Volume) UnmountVolume(ctx context.Context, request *UnmountVolumeRequest) (*UnmountVolumeResponse, error) {
	return &UnmountVolumeResponse{}, v.within(ctx).UnmountVolume(request.VolumeID, request.TargetPath)
}

// IsVolumeFormatted reports whether a volume has a file system.
func (v *Volume) IsVolumeFormatted(ctx context.Context,
	request *IsVolumeFormattedRequest) (*IsVolumeFormattedResponse, error) {
	formatted, err := v.within(ctx).IsVolumeFormatted(request.VolumeID)
	return &IsVolumeFormattedResponse{Formatted: formatted}, err
}

// FormatVolume makes an NTFS file system on a volume. An empty one is left alone, and one that holds files is refused.
func (v *Volume) FormatVolume(ctx context.Context, request *FormatVolumeRequest) (*FormatVolumeResponse, error) {
	return &FormatVolumeResponse{}, v.within(ctx).FormatVolume(request.VolumeID)
}

// WriteVolumeCache writes the cached data of a volume to its disk.
func (v *Volume) WriteVolumeCache(ctx context.Context,
	request *WriteVolumeCacheRequest) (*WriteVolumeCacheResponse, error) {
	return &WriteVolumeCacheResponse{}, v.within(ctx).WriteVolumeCache(request.VolumeID)
}

// ResizeVolume makes a volume and its file system larger. It is never made smaller.
func (v *Volume) ResizeVolume(ctx context.Context, request *ResizeVolumeRequest) (*ResizeVolumeResponse, error) {
	return &ResizeVolumeResponse{}, v.within(ctx).ResizeVolume(request.VolumeID, request.SizeBytes)
}

// GetVolumeStats returns the size of a volume and how much of it is used.
func (v *Volume) GetVolumeStats(ctx context.Context, request *GetVolumeStatsRequest) (*GetVolumeStatsResponse, error) {
	total, used, err := v.within(ctx).GetVolumeStats(request.VolumeID)
	return &GetVolumeStatsResponse{TotalBytes: total, UsedBytes: used}, err
}

// GetDiskNumberFromVolumeID returns the disk that a volume is on, mounted or not.
func (v *Volume) GetDiskNumberFromVolumeID(ctx context.Context,
	request *GetDiskNumberFromVolumeIDRequest) (*GetDiskNumberFromVolumeIDResponse, error) {
	number, err := v.within(ctx).GetDiskNumberFromVolumeID(request.VolumeID)
	return &GetDiskNumberFromVolumeIDResponse{DiskNumber: number}, err
}

// GetVolumeIDFromTargetPath returns the volume that is mounted at a directory, or at the one that links lead to.
func (v *Volume) GetVolumeIDFromTargetPath(ctx context.Context,
	request *GetVolumeIDFromTargetPathRequest) (*GetVolumeIDFromTargetPathResponse, error) {
	id, err := v.within(ctx).GetVolumeIDFromTargetPath(request.TargetPath)
	return &GetVolumeIDFromTargetPathResponse{VolumeID: id}, err
}

// GetClosestVolumeIDFromTargetPath returns the volume that holds a path: mounted there, or at a directory above.
func (v *Volume) GetClosestVolumeIDFromTargetPath(ctx context.Context,
	request *GetClosestVolumeIDFromTargetPathRequest) (*GetClosestVolumeIDFromTargetPathResponse, error) {
	id, err := v.within(ctx).GetClosestVolumeIDFromTargetPath(request.TargetPath)
	return &GetClosestVolumeIDFromTargetPathResponse{VolumeID: id}, err
}
