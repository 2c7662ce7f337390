// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/treeview"
)

// find begins NodeStageVolume.
func (l *lifecycle) find() []step {
	return []step{
		{"Find the disk by its serial number", "disk ListDiskIDs", func(ctx context.Context) (string, error) {
			ids, err := l.node.Disk.ListDiskIDs(ctx, &csiproxy.ListDiskIDsRequest{})
			if err != nil {
				return "", err
			}
			for number, id := range ids.GetDiskIDs() {
				if strings.Contains(id.GetSerialNumber(), l.serial) {
					l.disk = number
					return fmt.Sprintf("disk %d of %d, page 83 %q", number, len(ids.GetDiskIDs()), id.GetPage83()), nil
				}
			}
			return "", fmt.Errorf("no disk has the serial number %s", l.serial)
		}},
		{"How large is it?", "disk GetDiskStats", l.diskStats},
	}
}

// stage is the rest of NodeStageVolume.
func (l *lifecycle) stage() []step {
	return []step{
		{"Give it a partition table and a partition", "disk PartitionDisk", calling(l.node.Disk.PartitionDisk,
			&csiproxy.PartitionDiskRequest{DiskNumber: l.disk}, "partitioned, or it was already")},
		{"Bring it online", "disk SetDiskState online", l.setState(true)},
		{"Which volume is on it?", "volume ListVolumesOnDisk", func(ctx context.Context) (string, error) {
			list, err := l.node.Volume.ListVolumesOnDisk(ctx, &csiproxy.ListVolumesOnDiskRequest{DiskNumber: l.disk})
			if err != nil {
				return "", err
			}
			l.volume = list.GetVolumeIds()[0]
			return l.volume, nil
		}},
		{"Format it, unless it has a file system", "volume IsVolumeFormatted, FormatVolume",
			func(ctx context.Context) (string, error) {
				is, err := l.node.Volume.IsVolumeFormatted(ctx, &csiproxy.IsVolumeFormattedRequest{VolumeId: l.volume})
				if err != nil {
					return "", err
				}
				if is.GetFormatted() {
					return "it has one: an earlier run's files are kept", nil
				}
				_, err = l.node.Volume.FormatVolume(ctx, &csiproxy.FormatVolumeRequest{VolumeId: l.volume})
				return "it had none: formatted with NTFS", err
			}},
		{"Mount it at the staging directory", "volume MountVolume", func(ctx context.Context) (string, error) {
			_, err := l.node.Volume.MountVolume(ctx, &csiproxy.MountVolumeRequest{VolumeId: l.volume, TargetPath: stagingPath})
			return stagingPath, err
		}},
	}
}

// publish is NodePublishVolume, and the pod's use of the volume.
func (l *lifecycle) publish() []step {
	return []step{
		{"Make the pod's directory", "filesystem Mkdir", calling(l.node.Filesystem.Mkdir,
			&csiproxy.MkdirRequest{Path: podDir}, podDir)},
		{"Remove what an earlier try may have left there", "filesystem Rmdir", l.rmdir(podPath)},
		{"Link the pod's path to the staging directory", "filesystem CreateSymlink", calling(l.node.Filesystem.CreateSymlink,
			&csiproxy.CreateSymlinkRequest{SourcePath: `c:` + stagingPath, TargetPath: podPath}, podPath)},
		{"Does the link lead somewhere?", "filesystem IsSymlink", func(ctx context.Context) (string, error) {
			is, err := l.node.Filesystem.IsSymlink(ctx, &csiproxy.IsSymlinkRequest{Path: podPath})
			if err == nil && !is.GetIsSymlink() {
				err = errors.New("the link that was just made leads nowhere")
			}
			return "it does", err
		}},
		{"Be the pod: write to a file through the link", "(the host's file system)", l.write},
		{"How full is the volume? Ask by the pod's path", "volume GetVolumeIDFromTargetPath, GetVolumeStats", l.volumeStats},
	}
}

// grow is NodeExpandVolume, after the cloud has grown the disk.
func (l *lifecycle) grow() []step {
	return []step{
		{"Be the cloud: make the disk 1 GiB larger", "(admin) GrowDisk", calling(l.admin.GrowDisk,
			&nodeapi.GrowDiskRequest{DiskNumber: l.disk, SizeBytes: l.size + 1<<30},
			treeview.Size(l.size)+" → "+treeview.Size(l.size+1<<30))},
		{"Have Windows look at its disks again", "disk Rescan",
			calling(l.node.Disk.Rescan, &csiproxy.RescanRequest{}, "done")},
		{"Grow partition and file system as far as the disk goes", "volume ResizeVolume",
			calling(l.node.Volume.ResizeVolume, &csiproxy.ResizeVolumeRequest{VolumeId: l.volume}, "done")},
		{"How large is the disk now?", "disk GetDiskStats", l.diskStats},
		{"And the volume?", "volume GetVolumeIDFromTargetPath, GetVolumeStats", l.volumeStats},
		{"Be the pod: is everything still there?", "(the host's file system)", l.read},
	}
}

// unstage is NodeUnpublishVolume and NodeUnstageVolume.
func (l *lifecycle) unstage() []step {
	return []step{
		{"Remove the pod's link; what it leads to stays", "filesystem Rmdir", l.rmdir(podPath)},
		{"Flush the volume and take it off its directory", "volume UnmountVolume", calling(l.node.Volume.UnmountVolume,
			&csiproxy.UnmountVolumeRequest{VolumeId: l.volume, TargetPath: stagingPath}, "unmounted")},
		{"Remove the staging directory", "filesystem Rmdir", l.rmdir(stagingPath)},
		{"Which disk was it? The volume knows, though it is mounted nowhere", "volume GetDiskNumberFromVolumeID",
			func(ctx context.Context) (string, error) {
				n, err := l.node.Volume.GetDiskNumberFromVolumeID(ctx,
					&csiproxy.GetDiskNumberFromVolumeIDRequest{VolumeId: l.volume})
				return fmt.Sprintf("disk %d", n.GetDiskNumber()), err
			}},
		{"Take it offline, ready to be detached", "disk SetDiskState offline", l.setState(false)},
	}
}

func (l *lifecycle) diskStats(ctx context.Context) (string, error) {
	r, err := l.node.Disk.GetDiskStats(ctx, &csiproxy.GetDiskStatsRequest{DiskNumber: l.disk})
	l.size = r.GetTotalBytes()
	return treeview.Size(l.size), err
}

func (l *lifecycle) volumeStats(ctx context.Context) (string, error) {
	id, err := l.node.Volume.GetVolumeIDFromTargetPath(ctx,
		&csiproxy.GetVolumeIDFromTargetPathRequest{TargetPath: podPath})
	if err != nil {
		return "", err
	}
	r, err := l.node.Volume.GetVolumeStats(ctx, &csiproxy.GetVolumeStatsRequest{VolumeId: id.GetVolumeId()})
	return fmt.Sprintf("%s in all, %s used", treeview.Size(r.GetTotalBytes()), treeview.Size(r.GetUsedBytes())), err
}

func (l *lifecycle) setState(online bool) action {
	return func(ctx context.Context) (string, error) {
		if _, err := l.node.Disk.SetDiskState(ctx,
			&csiproxy.SetDiskStateRequest{DiskNumber: l.disk, IsOnline: online}); err != nil {
			return "", err
		}
		r, err := l.node.Disk.GetDiskState(ctx, &csiproxy.GetDiskStateRequest{DiskNumber: l.disk})
		if r.GetIsOnline() {
			return "online", err
		}
		return "offline", err
	}
}

func (l *lifecycle) rmdir(path string) action {
	return func(ctx context.Context) (string, error) {
		if _, err := l.node.Filesystem.Rmdir(ctx, &csiproxy.RmdirRequest{Path: path, Force: true}); err != nil {
			return "", err
		}
		r, err := l.node.Filesystem.PathExists(ctx, &csiproxy.PathExistsRequest{Path: path})
		if err == nil && r.GetExists() {
			err = fmt.Errorf("%s is still there", path)
		}
		return "nothing there any more", err
	}
}

// file is the pod's file on this host.
func (l *lifecycle) file(ctx context.Context) (string, error) {
	r, err := l.admin.GetPath(ctx, &nodeapi.GetPathRequest{WindowsPath: podPath + `\` + fileName})
	return r.GetHostPath(), err
}

func (l *lifecycle) write(ctx context.Context) (string, error) {
	path, err := l.file(ctx)
	if err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "the pod was here: %s\n", time.Now().Format(time.DateTime))
	return path, errors.Join(err, f.Close())
}

func (l *lifecycle) read(ctx context.Context) (string, error) {
	path, err := l.file(ctx)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("the pod's file is gone")
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Sprintf("%s has %d line(s), the last: %s", fileName, len(lines), lines[len(lines)-1]), err
}
