// SPDX-License-Identifier: Apache-2.0

// Command driver is a driver for HostProcess containers that was written for the existing in-process library: it stages
// a volume and uses only that library's names.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	smbapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/smb/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	systemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// mounter has the groups that a driver uses.
type mounter struct {
	Disk   disk.Interface
	Files  filesystem.Interface
	ISCSI  iscsi.Interface
	SMB    smb.Interface
	System system.Interface
	Volume volume.Interface
}

func newMounter() (*mounter, error) {
	disks, err := disk.New(diskapi.New())
	if err != nil {
		return nil, err
	}
	files, err := filesystem.New(filesystemapi.New())
	if err != nil {
		return nil, err
	}
	initiator, err := iscsi.New(iscsiapi.New())
	if err != nil {
		return nil, err
	}
	shares, err := smb.New(smbapi.New(), files)
	if err != nil {
		return nil, err
	}
	services, err := system.New(systemapi.New())
	if err != nil {
		return nil, err
	}
	volumes, err := volume.New(api.New())
	if err != nil {
		return nil, err
	}
	return &mounter{disks, files, initiator, shares, services, volumes}, nil
}

func (m *mounter) stage(ctx context.Context, serial, staging string) error {
	all, err := m.Disk.ListDiskIDs(ctx, &disk.ListDiskIDsRequest{})
	if err != nil {
		return err
	}
	for number, ids := range all.DiskIDs {
		if ids.SerialNumber != serial {
			continue
		}
		if _, err := m.Disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number}); err != nil {
			return err
		}
		volumes, err := m.Volume.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: number})
		if err != nil {
			return err
		}
		_, err = m.Volume.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: volumes.VolumeIDs[0], TargetPath: staging})
		return err
	}
	return fmt.Errorf("no disk has the serial number %s", serial)
}

func main() {
	m, err := newMounter()
	if err == nil {
		err = m.stage(context.Background(), "serial", `C:\var\lib\kubelet\plugins\example\globalmount`)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
