// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"context"
	"errors"
	"fmt"

	csiproxy "github.com/kubernetes-csi/csi-proxy/client/calls"
)

// A Device is a volume and the disk that it lies on.
type Device struct {
	Disk   uint32 // the disk's number, which changes when disks come and go
	Volume string // \\?\Volume{GUID}\
}

// DeviceOf returns the device that is mounted at a path, or at the end of links. No volume there is
// csiproxy.ErrNotMounted; one whose disk is gone or offline is csiproxy.ErrDiskNotFound, with the volume's id in the
// device.
func (m *Mounter) DeviceOf(ctx context.Context, path string) (Device, error) {
	volume, err := m.volumeAt(ctx, windowsPath(path))
	if err != nil {
		return Device{}, err
	}
	of, err := m.client.Volume.GetDiskNumberFromVolumeID(ctx, &csiproxy.GetDiskNumberFromVolumeIDRequest{VolumeId: volume})
	if errors.Is(err, csiproxy.ErrVolumeNotFound) {
		err = fmt.Errorf("%w: %w", csiproxy.ErrDiskNotFound, err)
	}
	return Device{Disk: of.GetDiskNumber(), Volume: volume}, err
}

// A Size is the size of a volume, in bytes.
type Size struct {
	Disk       int64 // of the whole disk, as a cloud counts
	FileSystem int64 // some MiB less than the disk, for the partition table and what is reserved
}

// SizeOf returns the size of the volume that a path leads to. The errors are those of DeviceOf.
func (m *Mounter) SizeOf(ctx context.Context, path string) (Size, error) {
	device, err := m.DeviceOf(ctx, path)
	if err != nil {
		return Size{}, err
	}
	return m.size(ctx, device)
}

func (m *Mounter) size(ctx context.Context, device Device) (Size, error) {
	disk, err := m.client.Disk.GetDiskStats(ctx, &csiproxy.GetDiskStatsRequest{DiskNumber: device.Disk})
	if err != nil {
		return Size{}, err
	}
	usage, err := m.usage(ctx, device.Volume)
	return Size{Disk: disk.GetTotalBytes(), FileSystem: usage.Total}, err
}

// overhead is more than what the partition table, the reserved partition and the alignment take of a disk.
const overhead = 32 << 20

// NeedResize reports whether the file system that a path leads to is so much smaller than its disk that it can grow,
// after Windows has looked at the disks again. It says true as well of a disk with other partitions, where there is
// nothing to gain: ExpandTo and StageDisk need no such question, because they change nothing then.
func (m *Mounter) NeedResize(ctx context.Context, path string) (bool, error) {
	if _, err := m.client.Disk.Rescan(ctx, &csiproxy.RescanRequest{}); err != nil {
		return false, err
	}
	size, err := m.SizeOf(ctx, path)
	return err == nil && size.Disk-size.FileSystem > overhead, err
}

// ExpandTo grows the volume that a path leads to as far as its disk allows, after the cloud made the disk at least
// bytes large, and returns the sizes, of which Disk is the capacity for NodeExpandVolume. As long as Windows does not
// see that size it is csiproxy.ErrDiskTooSmall, and nothing changes. 0 bytes asks for no size. A volume that is large
// enough is success.
func (m *Mounter) ExpandTo(ctx context.Context, path string, bytes int64) (Size, error) {
	if size, done, err := m.expandInOneCall(ctx, windowsPath(path), bytes); done {
		return size, err
	}
	if _, err := m.client.Disk.Rescan(ctx, &csiproxy.RescanRequest{}); err != nil {
		return Size{}, err
	}
	device, err := m.DeviceOf(ctx, path)
	if err != nil {
		return Size{}, err
	}
	size, err := m.size(ctx, device)
	if err != nil {
		return Size{}, err
	}
	if size.Disk < bytes {
		return size, fmt.Errorf("%w: disk %d has %d bytes, and %d are asked for", csiproxy.ErrDiskTooSmall,
			device.Disk, size.Disk, bytes)
	}
	if err := m.fill(ctx, device.Volume); err != nil {
		return size, err
	}
	return m.size(ctx, device)
}

// Expand is ExpandTo whatever the size of the disk. It returns the size of the file system in bytes.
func (m *Mounter) Expand(ctx context.Context, path string) (bytes int64, err error) {
	size, err := m.ExpandTo(ctx, path, 0)
	return size.FileSystem, err
}

// Usage is the usage of a volume's file system, in bytes.
type Usage struct {
	Total, Used, Available int64
}

// Usage returns the usage of the volume or the share that a path leads to. A quota of the account with which the share
// is mapped counts. Windows has no inodes. With an agent that does not know how full a share is, a link that leads to
// no volume is csiproxy.ErrUnsupported.
func (m *Mounter) Usage(ctx context.Context, path string) (Usage, error) {
	path = windowsPath(path)
	if usage, done, err := m.usageInOneCall(ctx, path); done {
		return usage, err
	}
	volume, err := m.volumeAt(ctx, path)
	if isAny(err, csiproxy.ErrNotMounted, csiproxy.ErrLink) || withoutReason(err) {
		link, lookErr := m.client.Filesystem.IsSymlink(ctx, &csiproxy.IsSymlinkRequest{Path: path})
		if lookErr == nil && link.GetIsSymlink() {
			return Usage{}, fmt.Errorf("%w: how full a share is: %w", csiproxy.ErrUnsupported, err)
		}
	}
	if err != nil {
		return Usage{}, err
	}
	return m.usage(ctx, volume)
}

func (m *Mounter) usage(ctx context.Context, volume string) (Usage, error) {
	s, err := m.client.Volume.GetVolumeStats(ctx, &csiproxy.GetVolumeStatsRequest{VolumeId: volume})
	return Usage{Total: s.GetTotalBytes(), Used: s.GetUsedBytes(), Available: s.GetTotalBytes() - s.GetUsedBytes()}, err
}
