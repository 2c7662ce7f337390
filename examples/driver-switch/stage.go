// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// stage mounts the volume on the disk of a serial number, which it formats when it is blank, and returns its id.
func stage(ctx context.Context, client *csiproxy.Client, serial, staging string) (volume string, err error) {
	number, err := findDisk(ctx, client, serial)
	if err != nil {
		return "", err
	}
	if _, err := client.Disk.PartitionDisk(ctx, &diskapi.PartitionDiskRequest{DiskNumber: number}); err != nil {
		return "", err
	}
	if _, err := client.Disk.SetDiskState(ctx, &diskapi.SetDiskStateRequest{DiskNumber: number, IsOnline: true}); err != nil {
		return "", err
	}
	volumes, err := client.Volume.ListVolumesOnDisk(ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: number})
	if err != nil {
		return "", err
	}
	volume = volumes.GetVolumeIds()[0] // the list is never empty
	is, err := client.Volume.IsVolumeFormatted(ctx, &volumeapi.IsVolumeFormattedRequest{VolumeId: volume})
	if err == nil && !is.GetFormatted() {
		_, err = client.Volume.FormatVolume(ctx, &volumeapi.FormatVolumeRequest{VolumeId: volume})
	}
	if err == nil {
		_, err = client.Volume.MountVolume(ctx, &volumeapi.MountVolumeRequest{VolumeId: volume, TargetPath: staging})
	}
	return volume, err
}

// findDisk returns the number of the disk with a serial number. Numbers change when the node boots.
func findDisk(ctx context.Context, client *csiproxy.Client, serial string) (uint32, error) {
	disks, err := client.Disk.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{})
	if err != nil {
		return 0, err
	}
	for number, ids := range disks.GetDiskIDs() {
		if serial != "" && ids.GetSerialNumber() == serial {
			return number, nil
		}
	}
	return 0, fmt.Errorf("no disk has the serial number %q", serial)
}
