// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// Unmount flushes the volume, then removes the link or the mount point at target, and the directory. It deletes no file:
// a directory with content is an error. A missing target is success. The disk of the volume stays online, see
// UnmountDevice.
func (m *Mounter) Unmount(target string) error {
	_, err := m.unmount(context.Background(), windowsPath(target))
	return err
}

// UnmountDevice is Unmount for the path at which StageDisk or FormatAndMount mounted a disk. Then it takes the disk offline, so that
// it can be detached without loss; unless the path was only a link to the volume, or a mounter with WithKubelet sees the volume at
// another path. If it fails in between, the volume is flushed and unmounted, and the disk stays online, as nothing says any more
// which one it was: UnstageDisk finds it again. A volume whose disk has already gone is unmounted as well.
func (m *Mounter) UnmountDevice(ctx context.Context, target string) error {
	target = windowsPath(target)
	if done, err := m.unstageInOneCall(ctx, target); done {
		return err
	}
	volume, err := m.unmount(ctx, target)
	if err != nil || volume == "" {
		return err
	}
	if used, err := m.mountedElsewhere(ctx, volume); err != nil || used {
		return err
	}
	// Only now: while the volume was flushed, its disk may have gone, and its number may be another one's.
	of, err := m.client.Volume.GetDiskNumberFromVolumeID(ctx, &csiproxy.GetDiskNumberFromVolumeIDRequest{VolumeId: volume})
	if err == nil {
		_, err = m.client.Disk.SetDiskState(ctx, &csiproxy.SetDiskStateRequest{DiskNumber: of.GetDiskNumber(), IsOnline: false})
	}
	if isAny(err, csiproxy.ErrDiskNotFound, csiproxy.ErrVolumeNotFound) {
		return nil
	}
	return err
}

// UnstageDisk is UnmountDevice for the path at which StageDisk mounted a disk, where the driver can still tell which disk that is, as
// from the volume's id. It can be repeated after a failure or a crash anywhere: a disk that is left online without being
// mounted is taken offline. A disk that does not match any more has been detached, which is success. A mounter without WithKubelet
// does not see other paths at which the volume is mounted, so there must be none.
func (m *Mounter) UnstageDisk(ctx context.Context, match Match, target string) error {
	if err := m.UnmountDevice(ctx, target); err != nil {
		return err
	}
	disk, err := m.FindDisk(ctx, match)
	if errors.Is(err, csiproxy.ErrDiskNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	volumes, err := m.client.Volume.ListVolumesOnDisk(ctx, &csiproxy.ListVolumesOnDiskRequest{DiskNumber: disk.Number})
	if isAny(err, csiproxy.ErrDiskOffline, csiproxy.ErrDiskNotFound, csiproxy.ErrNoVolume) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, volume := range volumes.GetVolumeIds() {
		if used, err := m.mountedElsewhere(ctx, volume); err != nil || used {
			return err
		}
	}
	if err := m.same(ctx, disk); err != nil {
		return err
	}
	_, err = m.client.Disk.SetDiskState(ctx, &csiproxy.SetDiskStateRequest{DiskNumber: disk.Number, IsOnline: false})
	return err
}

// mountedElsewhere reports whether a volume is mounted, as far as this mounter sees.
func (m *Mounter) mountedElsewhere(ctx context.Context, volume string) (bool, error) {
	if m.agent.MountPoints != nil {
		all, err := m.agent.MountPoints(ctx, volume)
		return len(all) > 0, err
	}
	all, err := m.kubelet.volumes()
	for _, path := range all {
		there, err := m.volumeAt(ctx, path) // and not its disk: other drivers' volumes may have more than one, or one that hangs
		if err != nil && !isAny(err, csiproxy.ErrPathNotFound, csiproxy.ErrNotMounted, csiproxy.ErrLink, csiproxy.ErrVolumeNotFound) {
			return false, err
		}
		if err == nil && there == volume {
			return true, nil
		}
	}
	return false, err
}

// A place is what is mounted at a path.
type place struct {
	volume string // "" if there is no volume, or no path
	disk   uint32
	gone   bool // the volume or its disk is not present
}

// at returns the volume that a path leads to.
func (m *Mounter) at(ctx context.Context, path string) (place, error) {
	volume, err := m.volumeAt(ctx, path)
	if isAny(err, csiproxy.ErrNotMounted, csiproxy.ErrLink, csiproxy.ErrVolumeNotFound) {
		return place{}, nil
	}
	if err != nil {
		return place{}, err
	}
	of, err := m.client.Volume.GetDiskNumberFromVolumeID(ctx, &csiproxy.GetDiskNumberFromVolumeIDRequest{VolumeId: volume})
	if isAny(err, csiproxy.ErrDiskNotFound, csiproxy.ErrVolumeNotFound) {
		return place{volume: volume, gone: true}, nil
	}
	return place{volume: volume, disk: of.GetDiskNumber()}, err
}

func isAny(err error, kinds ...error) bool {
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}

// unmount returns the volume whose mount point it removed, "" if there was none.
func (m *Mounter) unmount(ctx context.Context, target string) (unmounted string, err error) {
	exists, err := m.exists(ctx, target)
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
	case errors.Is(err, csiproxy.ErrNotMounted), errors.Is(err, csiproxy.ErrLink), withoutReason(err):
	default:
		return "", fmt.Errorf("unmounting %s: %w", target, err)
	}
	// The path is now a link, an empty directory, or something that an old agent did not describe further. With force, a
	// link or mount point is removed but not its target; a directory with content must not be removed.
	link, err := m.client.Filesystem.IsSymlink(ctx, &csiproxy.IsSymlinkRequest{Path: target})
	if err == nil {
		_, err = m.client.Filesystem.Rmdir(ctx, &csiproxy.RmdirRequest{Path: target, Force: link.GetIsSymlink()})
	}
	if errors.Is(err, csiproxy.ErrPathNotFound) {
		err = nil
	}
	return unmounted, err
}

// unmountVolume unmounts the volume that was found at a path. A link that leads to the volume is left alone: it is not mounted there.
func (m *Mounter) unmountVolume(ctx context.Context, volume, target string) (mounted bool, err error) {
	_, err = m.client.Volume.UnmountVolume(ctx, &csiproxy.UnmountVolumeRequest{VolumeId: volume, TargetPath: target})
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, csiproxy.ErrLink):
		return false, nil
	case withoutReason(err):
		// The agent does not say whether it failed because of a link. Once flushed, the volume may go either way.
		if _, flushed := m.client.Volume.WriteVolumeCache(ctx, &csiproxy.WriteVolumeCacheRequest{VolumeId: volume}); flushed == nil {
			return false, nil
		}
	}
	return false, err
}

// volumeAt returns the volume that a path leads to.
func (m *Mounter) volumeAt(ctx context.Context, path string) (string, error) {
	answer, err := m.client.Volume.GetVolumeIDFromTargetPath(ctx, &csiproxy.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return answer.GetVolumeId(), err
}

// withoutReason reports whether a failure comes from an agent that sends only texts.
func withoutReason(err error) bool {
	var e *csiproxy.Error
	return errors.As(err, &e) && e.Reason == "" && e.Code == codes.Unknown && !errors.Is(err, csiproxy.ErrNoAgent) && !errors.Is(err, csiproxy.ErrUnsupported)
}
