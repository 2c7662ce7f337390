// SPDX-License-Identifier: Apache-2.0

package mounter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// fileSystem is the file system that the agent makes.
const fileSystem = "ntfs"

// FormatAndMount mounts a disk at target and formats it first if it is blank. It stands in for SafeFormatAndMount of
// mount-utils, which works on Linux or through PowerShell. The source is the disk's number in decimal; the file system
// is NTFS or empty. The options are ignored: see Mount for ro.
func (m *Mounter) FormatAndMount(source, target, fstype string, options []string) error {
	return m.FormatAndMountSensitiveWithFormatOptions(source, target, fstype, options, nil, nil)
}

// FormatAndMountSensitive is FormatAndMount: a disk needs no secrets.
func (m *Mounter) FormatAndMountSensitive(source, target, fstype string, options, sensitiveOptions []string) error {
	return m.FormatAndMountSensitiveWithFormatOptions(source, target, fstype, options, sensitiveOptions, nil)
}

// FormatAndMountSensitiveWithFormatOptions is FormatAndMount. It refuses format options, which the agent would ignore.
func (m *Mounter) FormatAndMountSensitiveWithFormatOptions(source, target, fstype string, _, _, formatOptions []string) error {
	if len(formatOptions) > 0 {
		return fmt.Errorf("format options %q: volumes of Windows nodes have none", formatOptions)
	}
	if fstype != "" && !strings.EqualFold(fstype, fileSystem) {
		return fmt.Errorf("file system %q: volumes of Windows nodes are formatted with NTFS", fstype)
	}
	disk, err := strconv.ParseUint(source, 10, 32)
	if err != nil {
		return fmt.Errorf("source %q is not the number of a disk", source)
	}
	return m.MountDisk(context.Background(), uint32(disk), target)
}

// MountDisk mounts the data volume of a disk at target: it partitions a blank disk, brings it online, formats a blank
// volume with NTFS, makes the directory, mounts, and extends a volume that is smaller than its disk, such as one made
// from a snapshot. Steps that were done before are skipped, so an interrupted call can be repeated. A disk or volume
// that holds anything else is never overwritten: csiproxy.ErrNotBlank.
func (m *Mounter) MountDisk(ctx context.Context, disk uint32, target string) error {
	target = windowsPath(target)
	there, mounted, err := m.diskAt(ctx, target)
	if err != nil {
		return fmt.Errorf("looking at %s: %w", target, err)
	}
	if mounted && there != disk {
		return fmt.Errorf("%w: a volume of disk %d is mounted at %s, not one of disk %d", csiproxy.ErrOtherVolumeMounted, there, target, disk)
	}
	if _, err := m.client.Disk.PartitionDisk(ctx, &diskapi.PartitionDiskRequest{DiskNumber: disk}); err != nil {
		return err
	}
	_, err = m.client.Disk.SetDiskState(ctx, &diskapi.SetDiskStateRequest{DiskNumber: disk, IsOnline: true})
	if err != nil && !errors.Is(err, csiproxy.ErrUnsupported) { // old agents bring a disk online as they partition it
		return err
	}
	volumes, err := m.client.Volume.ListVolumesOnDisk(ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: disk})
	if err != nil {
		return err
	}
	if len(volumes.GetVolumeIds()) == 0 {
		return fmt.Errorf("%w: disk %d has none", csiproxy.ErrVolumeNotFound, disk)
	}
	volume := volumes.GetVolumeIds()[0]
	if err := m.format(ctx, volume); err != nil {
		return err
	}
	if err := m.makeDirectory(ctx, target); err != nil {
		return err
	}
	if _, err := m.client.Volume.MountVolume(ctx, &volumeapi.MountVolumeRequest{VolumeId: volume, TargetPath: target}); err != nil {
		return err
	}
	return m.fill(ctx, volume)
}

// format formats a volume that has no file system.
func (m *Mounter) format(ctx context.Context, volume string) error {
	formatted, err := m.client.Volume.IsVolumeFormatted(ctx, &volumeapi.IsVolumeFormattedRequest{VolumeId: volume})
	if err != nil || formatted.GetFormatted() {
		return err
	}
	_, err = m.client.Volume.FormatVolume(ctx, &volumeapi.FormatVolumeRequest{VolumeId: volume})
	return err
}

// fill grows a volume as far as its disk allows.
func (m *Mounter) fill(ctx context.Context, volume string) error {
	_, err := m.client.Volume.ResizeVolume(ctx, &volumeapi.ResizeVolumeRequest{VolumeId: volume})
	return err
}

// Expand grows the volume that a path leads to as far as its disk allows, after the disk has grown, and returns the size
// of its file system in bytes.
func (m *Mounter) Expand(ctx context.Context, path string) (bytes int64, err error) {
	if _, err := m.client.Disk.Rescan(ctx, &diskapi.RescanRequest{}); err != nil {
		return 0, err
	}
	volume, err := m.volumeAt(ctx, windowsPath(path))
	if err != nil {
		return 0, err
	}
	if err := m.fill(ctx, volume); err != nil {
		return 0, err
	}
	usage, err := m.usage(ctx, volume)
	return usage.Total, err
}

// Usage is the usage of a volume's file system, in bytes.
type Usage struct {
	Total, Used, Available int64
}

// Usage returns the usage of the volume that a path leads to. Windows has no inodes.
func (m *Mounter) Usage(ctx context.Context, path string) (Usage, error) {
	volume, err := m.volumeAt(ctx, windowsPath(path))
	if err != nil {
		return Usage{}, err
	}
	return m.usage(ctx, volume)
}

func (m *Mounter) usage(ctx context.Context, volume string) (Usage, error) {
	s, err := m.client.Volume.GetVolumeStats(ctx, &volumeapi.GetVolumeStatsRequest{VolumeId: volume})
	return Usage{Total: s.GetTotalBytes(), Used: s.GetUsedBytes(), Available: s.GetTotalBytes() - s.GetUsedBytes()}, err
}
