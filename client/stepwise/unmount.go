// SPDX-License-Identifier: Apache-2.0

package stepwise

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/client/calls"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
)

// Unmount flushes the volume, then removes the link or the mount point at target, and the directory. It deletes no
// file: a directory with content is an error. A missing target is success. The disk of the volume stays online, see
// UnmountDevice.
func (m *Mounter) Unmount(target string) error {
	_, err := m.unmount(context.Background(), WindowsPath(target))
	return err
}

// UnmountDevice is Unmount, and then takes the disk offline, so that it can be detached without loss; unless the path
// was only a link to the volume, or the volume is mounted elsewhere. A volume whose disk has already gone is unmounted
// as well.
func (m *Mounter) UnmountDevice(ctx context.Context, target string) error {
	target = WindowsPath(target)
	volume, err := m.unmount(ctx, target)
	if err != nil || volume == "" {
		return err
	}
	return m.takeOffline(ctx, volume)
}

// takeOffline takes the disk of a volume offline, unless one of the disk's volumes is mounted. One that has gone, or is
// offline, is success.
func (m *Mounter) takeOffline(ctx context.Context, volume string) error {
	// Only now: while the volume was flushed, its disk may have gone, and its number may be another one's.
	of, err := m.client.Volume.GetDiskNumberFromVolumeID(ctx, &calls.GetDiskNumberFromVolumeIDRequest{VolumeId: volume})
	disk := of.GetDiskNumber()
	switch {
	case err != nil:
	case m.agent.MeansDiskOf != nil: // it looks while the disk is open, and nothing can be mounted meanwhile
		err = m.setOffline(m.agent.MeansDiskOf(ctx, disk, volume), disk)
	default:
		err = m.takeUnusedOffline(ctx, disk, volume)
	}
	if isAny(err, calls.ErrDiskNotFound, calls.ErrVolumeNotFound) {
		return nil
	}
	return err
}

// takeUnusedOffline takes a disk offline on which a volume lies, unless one of the disk's volumes is mounted.
func (m *Mounter) takeUnusedOffline(ctx context.Context, disk uint32, volume string) error {
	volumes := []string{volume}
	if m.kubelet.files != nil { // else it sees no mounts
		on, err := m.client.Volume.ListVolumesOnDisk(ctx, &calls.ListVolumesOnDiskRequest{DiskNumber: disk})
		if err != nil {
			return err
		}
		volumes = append(volumes, on.GetVolumeIds()...)
	}
	if used, err := m.mountedElsewhere(ctx, volumes); err != nil || used {
		return err
	}
	return m.setOffline(ctx, disk)
}

// TakeDiskOffline takes a disk offline, unless one of its volumes is mounted. The API knows the disk by its number
// alone, so a disk that takes the number after the last look goes offline.
func (m *Mounter) TakeDiskOffline(ctx context.Context, disk Disk, volumes []string) error {
	if used, err := m.mountedElsewhere(ctx, volumes); err != nil || used {
		return err
	}
	if err := m.same(ctx, disk); err != nil {
		return err
	}
	return m.setOffline(ctx, disk.Number)
}

// setOffline takes a disk offline. One that Windows needs stays online, and is not going to be detached.
func (m *Mounter) setOffline(ctx context.Context, disk uint32) error {
	_, err := m.client.Disk.SetDiskState(ctx, &calls.SetDiskStateRequest{DiskNumber: disk, IsOnline: false})
	if calls.HasReason(err, reason.SystemDisk) {
		return nil
	}
	return err
}

// mountedElsewhere reports whether one of some volumes is mounted in kubelet's directory.
func (m *Mounter) mountedElsewhere(ctx context.Context, volumes []string) (bool, error) {
	all, err := m.kubelet.volumes()
	for _, path := range all {
		// and not its disk: other drivers' volumes may have more than one, or one that hangs
		there, err := m.volumeAt(ctx, path)
		if err != nil && !isAny(err, calls.ErrPathNotFound, calls.ErrNotMounted, calls.ErrLink,
			calls.ErrVolumeNotFound) {
			return false, err
		}
		if err == nil && slices.Contains(volumes, there) {
			return true, nil
		}
	}
	return false, err
}

// A mount is what a path leads to.
type mount struct {
	Device      // without a volume, or a path, the zero value
	gone   bool // the volume or its disk is not present
}

// at returns the volume that a path leads to.
func (m *Mounter) at(ctx context.Context, path string) (mount, error) {
	device, err := m.DeviceOf(ctx, path)
	gone := device.Volume != "" && errors.Is(err, calls.ErrDiskNotFound)
	if gone || isAny(err, calls.ErrNotMounted, calls.ErrLink, calls.ErrVolumeNotFound) {
		err = nil
	}
	return mount{device, gone}, err
}

func isAny(err error, kinds ...error) bool {
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}

// unmount returns the volume whose mount point it removed, "" if there was none.
func (m *Mounter) unmount(ctx context.Context, target string) (unmounted string, err error) {
	exists, err := m.PathExists(ctx, target)
	if err != nil || !exists {
		return "", err
	}
	switch volume, err := m.volumeAt(ctx, target); {
	case err == nil:
		mounted, err := m.unmountVolume(ctx, volume, target)
		if err != nil {
			return "", fmt.Errorf("unmounting %s: %w", target, err)
		}
		if mounted {
			unmounted = volume
		}
	case errors.Is(err, calls.ErrNotMounted), errors.Is(err, calls.ErrLink), calls.WithoutReason(err):
	default:
		return "", fmt.Errorf("unmounting %s: %w", target, err)
	}
	// The path is now a link, an empty directory, or something that an old agent did not describe further. With force, a
	// link or mount point is removed but not its target; a directory with content must not be removed.
	link, err := m.client.Filesystem.IsSymlink(ctx, &calls.IsSymlinkRequest{Path: target})
	if err == nil {
		_, err = m.client.Filesystem.Rmdir(ctx, &calls.RmdirRequest{Path: target, Force: link.GetIsSymlink()})
	}
	if errors.Is(err, calls.ErrPathNotFound) {
		err = nil
	}
	return unmounted, err
}

// unmountVolume unmounts the volume that was found at a path. A link that leads to the volume is left alone: it is not
// mounted there.
func (m *Mounter) unmountVolume(ctx context.Context, volume, target string) (mounted bool, err error) {
	_, err = m.client.Volume.UnmountVolume(ctx, &calls.UnmountVolumeRequest{VolumeId: volume, TargetPath: target})
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, calls.ErrLink):
		return false, nil
	case calls.WithoutReason(err):
		// The agent does not say whether it failed because of a link. Once flushed, the volume may go either way.
		if _, flushed := m.client.Volume.WriteVolumeCache(ctx,
			&calls.WriteVolumeCacheRequest{VolumeId: volume}); flushed == nil {
			return false, nil
		}
	}
	return false, err
}

// volumeAt returns the volume that a path leads to.
func (m *Mounter) volumeAt(ctx context.Context, path string) (string, error) {
	answer, err := m.client.Volume.GetVolumeIDFromTargetPath(ctx,
		&calls.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return answer.GetVolumeId(), err
}
