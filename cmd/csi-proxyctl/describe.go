// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"strings"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

func describeDisk(ctx context.Context, a *connection, client *csiproxy.Client, args []string) ([]string, error) {
	number := diskOf(args[len(args)-1:])
	if _, err := client.Disk.GetDiskStats(ctx, &diskapi.GetDiskStatsRequest{DiskNumber: number}); err != nil {
		return nil, err
	}
	return a.drawn(ctx, number)
}

func describeVolume(ctx context.Context, a *connection, client *csiproxy.Client, args []string) ([]string, error) {
	r, err := client.Volume.GetDiskNumberFromVolumeID(ctx,
		&volumeapi.GetDiskNumberFromVolumeIDRequest{VolumeId: args[len(args)-1]})
	if err != nil {
		return nil, err
	}
	return a.drawn(ctx, r.GetDiskNumber())
}

// drawn returns the part of the tree that shows a disk.
func (a *connection) drawn(ctx context.Context, number uint32) ([]string, error) {
	tree, _, err := a.tree(ctx)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	err = treeview.Write(&text, &treeview.Tree{Disks: slices.DeleteFunc(tree.Disks,
		func(d treeview.Disk) bool { return d.Number != number })})
	return strings.Split(strings.TrimSpace(text.String()), "\n"), err
}

func describePath(ctx context.Context, _ *connection, client *csiproxy.Client, args []string) ([]string, error) {
	path := args[len(args)-1]
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

// describeTarget describes the target of the portal before it.
func describeTarget(ctx context.Context, _ *connection, client *csiproxy.Client, args []string) ([]string, error) {
	r, err := client.ISCSI.GetTargetDisks(ctx,
		&iscsiapi.GetTargetDisksRequest{TargetPortal: portalOf(args), Iqn: args[1]})
	if len(r.GetDiskIDs()) == 0 {
		return []string{"The target has given this node no disks."}, err
	}
	return []string{"Disks of the target: " + strings.Join(r.GetDiskIDs(), ", ")}, err
}

func describeService(ctx context.Context, _ *connection, client *csiproxy.Client, args []string) ([]string, error) {
	s, err := getService(ctx, client, args[len(args)-1])
	return []string{"Service " + s.Name + " (" + s.DisplayName + "): " + s.Status + ", starts " + s.StartType}, err
}
