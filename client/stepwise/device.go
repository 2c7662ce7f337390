// SPDX-License-Identifier: Apache-2.0

package stepwise

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/kubernetes-csi/csi-proxy/client/calls"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
)

// A Device is a volume and the disk that it lies on.
type Device struct {
	Disk   uint32       // the disk's number, which changes when disks come and go
	Volume string       // \\?\Volume{GUID}\
	Access AccessResult // of StageDisk: whether StageOptions.Access is in the access list
}

// DeviceOf returns the device that is mounted at a path, or at the end of links. No volume there is
// csiproxy.ErrNotMounted; one whose disk is gone or offline is csiproxy.ErrDiskNotFound, with the volume's id in the
// device.
func (m *Mounter) DeviceOf(ctx context.Context, path string) (Device, error) {
	volume, err := m.volumeAt(ctx, WindowsPath(path))
	if err != nil {
		return Device{}, err
	}
	of, err := m.client.Volume.GetDiskNumberFromVolumeID(ctx, &calls.GetDiskNumberFromVolumeIDRequest{VolumeId: volume})
	if errors.Is(err, calls.ErrVolumeNotFound) {
		err = fmt.Errorf("%w: %w", calls.ErrDiskNotFound, err)
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
	disk, err := m.client.Disk.GetDiskStats(ctx, &calls.GetDiskStatsRequest{DiskNumber: device.Disk})
	if err != nil {
		return Size{}, err
	}
	usage, err := m.usage(ctx, device.Volume)
	return Size{Disk: disk.GetTotalBytes(), FileSystem: usage.Total}, err
}

// ExpandTo grows the volume that a path leads to as far as its disk allows, and returns the sizes. A disk of fewer
// bytes is csiproxy.ErrDiskTooSmall, and nothing changes.
func (m *Mounter) ExpandTo(ctx context.Context, path string, bytes int64) (Size, error) {
	if _, err := m.client.Disk.Rescan(ctx, &calls.RescanRequest{}); err != nil {
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
		return size, fmt.Errorf("%w: disk %d has %d bytes, and %d are asked for", calls.ErrDiskTooSmall,
			device.Disk, size.Disk, bytes)
	}
	if err := m.fill(ctx, device.Volume); err != nil {
		return size, err
	}
	return m.size(ctx, device)
}

// Usage is the usage of a volume's file system, in bytes.
type Usage struct {
	Total, Used, Available int64
}

// Usage returns the usage of the volume that a path leads to. A link that leads to none is csiproxy.ErrUnsupported.
func (m *Mounter) Usage(ctx context.Context, path string) (Usage, error) {
	path = WindowsPath(path)
	volume, err := m.volumeAt(ctx, path)
	if isAny(err, calls.ErrNotMounted, calls.ErrLink) || calls.WithoutReason(err) {
		link, lookErr := m.client.Filesystem.IsSymlink(ctx, &calls.IsSymlinkRequest{Path: path})
		if lookErr == nil && link.GetIsSymlink() {
			return Usage{}, fmt.Errorf("%w: how full a share is: %w", calls.ErrUnsupported, err)
		}
	}
	if err != nil {
		return Usage{}, err
	}
	return m.usage(ctx, volume)
}

func (m *Mounter) usage(ctx context.Context, volume string) (Usage, error) {
	s, err := m.client.Volume.GetVolumeStats(ctx, &calls.GetVolumeStatsRequest{VolumeId: volume})
	return Usage{Total: s.GetTotalBytes(), Used: s.GetUsedBytes(), Available: s.GetTotalBytes() - s.GetUsedBytes()}, err
}

// A Condition is how a volume is. A driver answers it in NodeGetVolumeStats, up to CSI 1.12, or NodeGetVolumeHealth:
//
//	&csi.VolumeCondition{Abnormal: c.Abnormal, Message: c.Message}
//	&csi.VolumeHealth_VolumeHealthEntry{Status: csi.VolumeHealthErrorType_INACCESSIBLE,
//		Reason: c.Reason(), Message: c.Message}
type Condition struct {
	Abnormal bool
	Message  string // for people
	// Cause is the kind of what is wrong, for errors.Is: csiproxy.ErrNotMounted, csiproxy.ErrDiskNotFound,
	// csiproxy.ErrDamaged, csiproxy.ErrNotFormatted, csiproxy.ErrNearlyFull. Nil if nothing is.
	Cause error
}

// The bounds of csiproxy.ErrNearlyFull.
const (
	nearlyFullPart  = 20
	nearlyFullBytes = 1 << 30
)

// causes are the kinds of what can be wrong with a volume, by the reasons that stand for them in answers.
func causes() map[string]error {
	return map[string]error{
		reason.NotMounted: calls.ErrNotMounted, reason.DiskNotFound: calls.ErrDiskNotFound,
		"DISK_CORRUPT":      calls.ErrDamaged,
		reason.NotFormatted: calls.ErrNotFormatted, reason.NearlyFull: calls.ErrNearlyFull,
	}
}

// CauseOf returns the cause that a reason stands for, or nil.
func CauseOf(reason string) error { return causes()[reason] }

// Reason returns the reason that stands for the cause: NOT_MOUNTED and so on. It is empty if nothing is wrong.
func (c Condition) Reason() string {
	for name, cause := range causes() {
		if c.Abnormal && c.Cause == cause { //nolint:errorlint // a cause is one of these itself
			return name
		}
	}
	return ""
}

// Condition returns the condition of the volume that is mounted or linked at a path. A path that does not exist is
// fs.ErrNotExist; other errors say that the condition is not known. It changes nothing.
func (m *Mounter) Condition(ctx context.Context, path string) (Condition, error) {
	path = WindowsPath(path)
	leads, err := m.client.Filesystem.IsSymlink(ctx, &calls.IsSymlinkRequest{Path: path})
	if err != nil {
		if exists, failure := m.PathExists(ctx, path); failure == nil && !exists {
			err = &fs.PathError{Op: "look at", Path: path, Err: fs.ErrNotExist}
		}
		return Condition{}, err
	}
	there, err := m.at(ctx, path)
	switch {
	case err != nil:
		return Condition{}, err
	case there.gone:
		return abnormal(calls.ErrDiskNotFound, "the disk of volume %s, mounted at %s, is gone or offline",
			there.Volume, path), nil
	case there.Volume == "" && leads.GetIsSymlink(): // a share that answers
		return Condition{Message: "the volume is mounted"}, nil
	case there.Volume == "":
		return abnormal(calls.ErrNotMounted, "nothing is mounted at %s, or what it leads to cannot be reached", path), nil
	}
	usage, err := m.usage(ctx, there.Volume)
	switch {
	case errors.Is(err, calls.ErrDamaged):
		return abnormal(calls.ErrDamaged, "%v", err), nil
	case err != nil:
		return Condition{}, err
	case usage.Total == 0:
		return abnormal(calls.ErrNotFormatted, "volume %s, mounted at %s, has no file system that Windows knows",
			there.Volume, path), nil
	case usage.Available < nearlyFullBytes && usage.Available < usage.Total/nearlyFullPart:
		return abnormal(calls.ErrNearlyFull, "%d of %d bytes are available at %s", usage.Available, usage.Total, path), nil
	}
	return Condition{Message: "the volume is mounted"}, nil
}

func abnormal(cause error, format string, args ...any) Condition {
	return Condition{Abnormal: true, Message: fmt.Sprintf(format, args...), Cause: cause}
}
