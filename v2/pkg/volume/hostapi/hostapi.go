// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"regexp"

	"google.golang.org/grpc"

	volumev2alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/machine"
)

// HostAPI gives access to the volumes of a machine. A volume's id is its volume name, \\?\Volume{GUID}\.
type HostAPI interface {
	// ListVolumesOnDisk returns the volumes of a disk, or of one of its partitions; partition 0 means all.
	ListVolumesOnDisk(diskNumber uint32, partitionNumber uint32) (volumeIDs []string, err error)
	// MountVolume mounts a volume at a directory.
	MountVolume(volumeID, targetPath string) error
	// UnmountVolume flushes a volume and unmounts it from a directory.
	UnmountVolume(volumeID, targetPath string) error
	// IsVolumeFormatted reports whether a volume has a file system.
	IsVolumeFormatted(volumeID string) (bool, error)
	// FormatVolume makes an NTFS file system on a volume.
	FormatVolume(volumeID string) error
	// ResizeVolume makes a volume larger, to a size in bytes; 0 means as large as its disk allows.
	ResizeVolume(volumeID string, sizeBytes int64) error
	// GetVolumeStats returns the size of a volume and how much of it is used, in bytes.
	GetVolumeStats(volumeID string) (int64, int64, error)
	// GetDiskNumberFromVolumeID returns the disk that a volume is on.
	GetDiskNumberFromVolumeID(volumeID string) (uint32, error)
	// GetVolumeIDFromTargetPath returns the volume that is mounted at a directory, or where links lead to.
	GetVolumeIDFromTargetPath(targetPath string) (string, error)
	// WriteVolumeCache writes the cached data of a volume to its disk.
	WriteVolumeCache(volumeID string) error
	// GetClosestVolumeIDFromTargetPath returns the volume that holds a path.
	GetClosestVolumeIDFromTargetPath(targetPath string) (string, error)
}

// VolumeRegexp finds the name of a volume in a text.
var VolumeRegexp = regexp.MustCompile(`Volume\{[\w-]*\}`)

// VolumeAPI is the HostAPI of this project: each call has the path policy, checks, locks and errors of the node. The
// zero value is that of New.
type VolumeAPI struct {
	at machine.Place
}

// New returns the machine that the process runs on, which must be a Windows node; off Windows, all calls fail. With
// CSI_PROXY_HOSTAPI=agent in the environment it returns the node of the agent whose pipes the process sees.
func New() HostAPI { return VolumeAPI{} }

// Over returns the node of a client: an emulated node, one that inprocess.Open opened with options, or the agent's.
func Over(client *csiproxy.Client) VolumeAPI { return VolumeAPI{machine.At(client)} }

// WithContext returns the same machine for calls that end with a context.
func (v VolumeAPI) WithContext(ctx context.Context) VolumeAPI { return VolumeAPI{v.at.Within(ctx)} }

// call makes a call to the API's volume group.
func call[Q, R any](v VolumeAPI, method func(volumev2alpha1.VolumeClient, context.Context, *Q, ...grpc.CallOption) (*R,
	error), request *Q) (*R, error) {
	ctx, client, err := v.at.Client()
	if err != nil {
		return nil, err
	}
	return method(client.Volume, ctx, request)
}
