// SPDX-License-Identifier: Apache-2.0

package mounter

import (
	"context"
	"errors"
	"fmt"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// Unmount takes away the link or the mount point at target, after what the volume holds in memory has been written, and
// then the directory. It deletes no file: a directory with content is an error. Nothing there is success. The disk of
// the volume stays online, see UnmountDevice.
func (m *Mounter) Unmount(target string) error {
	return m.unmount(context.Background(), windowsPath(target))
}

// UnmountDevice is Unmount for the path at which FormatAndMount mounted a disk, which then goes offline, so that it can
// be detached without loss. A volume whose disk has gone already is unmounted all the same.
func (m *Mounter) UnmountDevice(ctx context.Context, target string) error {
	target = windowsPath(target)
	disk, mounted, err := m.diskAt(ctx, target)
	if err != nil {
		return fmt.Errorf("unmounting %s: %w", target, err)
	}
	if err := m.unmount(ctx, target); err != nil || !mounted {
		return err
	}
	_, err = m.client.Disk.SetDiskState(ctx, &diskapi.SetDiskStateRequest{DiskNumber: disk, IsOnline: false})
	if errors.Is(err, csiproxy.ErrDiskNotFound) {
		return nil
	}
	return err
}

// diskAt returns the disk of the volume that a path leads to. Nothing mounted, or a disk that is gone, is not mounted.
func (m *Mounter) diskAt(ctx context.Context, path string) (disk uint32, mounted bool, err error) {
	volume, err := m.volumeAt(ctx, path)
	if err == nil {
		var of *volumeapi.GetDiskNumberFromVolumeIDResponse
		of, err = m.client.Volume.GetDiskNumberFromVolumeID(ctx, &volumeapi.GetDiskNumberFromVolumeIDRequest{VolumeId: volume})
		disk = of.GetDiskNumber()
	}
	for _, none := range []error{csiproxy.ErrNotMounted, csiproxy.ErrLink, csiproxy.ErrDiskNotFound, csiproxy.ErrVolumeNotFound} {
		if errors.Is(err, none) {
			return 0, false, nil
		}
	}
	return disk, err == nil, err
}

func (m *Mounter) unmount(ctx context.Context, target string) error {
	exists, err := m.exists(ctx, target)
	if err != nil || !exists {
		return err
	}
	switch volume, err := m.volumeAt(ctx, target); {
	case err == nil:
		if err := m.unmountVolume(ctx, volume, target); err != nil {
			return fmt.Errorf("unmounting %s: %w", target, err)
		}
	case errors.Is(err, csiproxy.ErrNotMounted), errors.Is(err, csiproxy.ErrLink), withoutReason(err):
	default:
		return fmt.Errorf("unmounting %s: %w", target, err)
	}
	// What is left is a link, an empty directory, or what an old agent would not say more about. With force a link or a
	// mount point goes whatever it leads to, and nothing behind it; a directory with content must not.
	link, err := m.client.Filesystem.IsSymlink(ctx, &filesystemapi.IsSymlinkRequest{Path: target})
	if err == nil {
		_, err = m.client.Filesystem.Rmdir(ctx, &filesystemapi.RmdirRequest{Path: target, Force: link.GetIsSymlink()})
	}
	if errors.Is(err, csiproxy.ErrPathNotFound) {
		return nil
	}
	return err
}

// unmountVolume unmounts the volume that was found at a path, and leaves a link alone that leads to it.
func (m *Mounter) unmountVolume(ctx context.Context, volume, target string) error {
	_, err := m.client.Volume.UnmountVolume(ctx, &volumeapi.UnmountVolumeRequest{VolumeId: volume, TargetPath: target})
	switch {
	case err == nil, errors.Is(err, csiproxy.ErrLink):
		return nil
	case withoutReason(err):
		// Whether this agent failed for a link, it does not say. Written out, the volume may go either way.
		if _, flushed := m.client.Volume.WriteVolumeCache(ctx, &volumeapi.WriteVolumeCacheRequest{VolumeId: volume}); flushed == nil {
			return nil
		}
	}
	return err
}

// volumeAt returns the volume that a path leads to.
func (m *Mounter) volumeAt(ctx context.Context, path string) (string, error) {
	answer, err := m.client.Volume.GetVolumeIDFromTargetPath(ctx, &volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return answer.GetVolumeId(), err
}

// withoutReason tells a failure of an agent that gives texts only.
func withoutReason(err error) bool {
	var e *csiproxy.Error
	return errors.As(err, &e) && e.Reason == "" && !errors.Is(err, csiproxy.ErrNoAgent) && !errors.Is(err, csiproxy.ErrUnsupported)
}
