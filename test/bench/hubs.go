// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"path/filepath"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	adminserver "github.com/kubernetes-csi/csi-proxy/internal/admin"
)

// hubs are the clients that a driver has, and the control of the emulated node.
type hubs struct {
	disk   disk.DiskClient
	files  filesystem.FilesystemClient
	volume volume.VolumeClient
	node   admin.EmulatedNodeClient

	conns connections
}

func dialHubs(t *target) (*hubs, error) {
	h := &hubs{}
	for _, socket := range []string{
		t.socket("disk", "v1"), t.socket("filesystem", "v2alpha1"), t.socket("volume", "v2alpha1"),
		filepath.Join(t.dir, "run", adminserver.EndpointName+".sock"),
	} {
		conns, err := connect(socket, 1)
		if err != nil {
			h.close()
			return nil, err
		}
		h.conns = append(h.conns, conns...)
	}
	h.disk, h.files = disk.NewDiskClient(h.conns[0]), filesystem.NewFilesystemClient(h.conns[1])
	h.volume, h.node = volume.NewVolumeClient(h.conns[2]), admin.NewEmulatedNodeClient(h.conns[3])
	return h, nil
}

func (h *hubs) close() { h.conns.close() }

// makeVolume partitions and formats a disk and returns its volume.
func (h *hubs) makeVolume(ctx context.Context, number uint32) (id string, err error) {
	if _, err := h.disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number}); err != nil {
		return "", err
	}
	listed, err := h.volume.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: number})
	if err != nil {
		return "", err
	}
	if len(listed.GetVolumeIds()) != 1 {
		return "", errors.New("the disk has not got one volume")
	}
	id = listed.GetVolumeIds()[0]
	_, err = h.volume.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeId: id})
	return id, err
}

// mount mounts a volume, makes a directory in it and a link to it.
func (h *hubs) mount(ctx context.Context, id string) error {
	if _, err := h.volume.MountVolume(ctx, &volume.MountVolumeRequest{VolumeId: id, TargetPath: mountPath}); err != nil {
		return err
	}
	for _, dir := range []string{insidePath, linkDir} {
		if _, err := h.files.Mkdir(ctx, &filesystem.MkdirRequest{Path: dir}); err != nil {
			return err
		}
	}
	_, err := h.files.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: mountPath, TargetPath: linkPath})
	return err
}
