// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

// The API describes what a command would destroy. The first question of each description fails if the object does not
// exist. Facts that an older agent cannot give are left out.

// describeDisk describes a disk.
func describeDisk(ctx context.Context, client *csiproxy.Client, number uint32) ([]string, error) {
	stats, err := client.Disk.GetDiskStats(ctx, &diskapi.GetDiskStatsRequest{DiskNumber: number})
	if err != nil {
		return nil, err
	}
	line := fmt.Sprintf("Disk %d: %s", number, treeview.Size(stats.GetTotalBytes()))
	if state, err := client.Disk.GetDiskState(ctx, &diskapi.GetDiskStateRequest{DiskNumber: number}); err == nil {
		line += ", " + onlineText(state.GetIsOnline())
	}
	if ids, err := client.Disk.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{}); err == nil {
		id := ids.GetDiskIDs()[number]
		if id.GetSerialNumber() != "" {
			line += ", serial " + id.GetSerialNumber()
		}
		if id.GetPage83() != "" {
			line += ", page 83 " + id.GetPage83()
		}
	}
	lines := []string{line}
	volumes, err := client.Volume.ListVolumesOnDisk(ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: number})
	if err != nil {
		return lines, nil //nolint:nilerr // offline, or nothing on it
	}
	for _, id := range volumes.GetVolumeIds() {
		lines = append(lines, volumeLine(ctx, client, id))
	}
	return lines, nil
}

// describeVolume describes a volume.
func describeVolume(ctx context.Context, client *csiproxy.Client, id string) ([]string, error) {
	disk, err := client.Volume.GetDiskNumberFromVolumeID(ctx, &volumeapi.GetDiskNumberFromVolumeIDRequest{VolumeId: id})
	if err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("%s, on disk %d", volumeLine(ctx, client, id), disk.GetDiskNumber())}, nil
}

func volumeLine(ctx context.Context, client *csiproxy.Client, id string) string {
	line := "Volume " + id
	formatted, err := client.Volume.IsVolumeFormatted(ctx, &volumeapi.IsVolumeFormattedRequest{VolumeId: id})
	switch {
	case err != nil:
		return line
	case !formatted.GetFormatted():
		return line + ": no file system that Windows knows"
	}
	line += ": formatted"
	if stats, err := client.Volume.GetVolumeStats(ctx, &volumeapi.GetVolumeStatsRequest{VolumeId: id}); err == nil {
		line += fmt.Sprintf(", %s of %s used", treeview.Size(stats.GetUsedBytes()), treeview.Size(stats.GetTotalBytes()))
	}
	return line
}

// describePath describes what is at a path.
func describePath(ctx context.Context, client *csiproxy.Client, path string) ([]string, error) {
	exists, err := client.Filesystem.PathExists(ctx, &filesystemapi.PathExistsRequest{Path: path})
	if err != nil {
		return nil, err
	}
	if !exists.GetExists() {
		return []string{path + ": not there"}, nil
	}
	if mounted, err := client.Volume.GetVolumeIDFromTargetPath(ctx,
		&volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: path}); err == nil {
		return []string{path + ": the volume " + mounted.GetVolumeId() + " is mounted there; its content is not touched"}, nil
	}
	if link, err := client.Filesystem.IsSymlink(ctx, &filesystemapi.IsSymlinkRequest{Path: path}); err == nil &&
		link.GetIsSymlink() {
		return []string{path + ": a link; what it leads to is not touched"}, nil
	}
	return []string{path + ": a directory, or a link that leads nowhere"}, nil
}
