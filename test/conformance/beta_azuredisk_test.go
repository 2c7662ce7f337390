// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	stdcontext "context"
	"errors"
	"testing"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta2"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1beta1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1beta2"
	diskbeta "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1beta2"
	filesystembeta "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1beta1"
	volumebeta "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1beta2"
)

// TestAzureDiskBeta plays the Azure Disk driver on the beta versions that it falls back to.
func TestAzureDiskBeta(t *testing.T) {
	n := startBeta(t, "disk=v1beta2", "filesystem=v1beta1", "volume=v1beta2")
	fallback(t)
	live(n, &azureBeta{
		ctx: t.Context(), disk: present(t, diskbeta.NewClient), filesystem: present(t, filesystembeta.NewClient),
		volume: present(t, volumebeta.NewClient),
	})
}

// azureBeta finds its disk by LUN 2, never sets a disk's state, unmounts by removing the mount point, and resizes by
// disk number.
type azureBeta struct {
	ctx        stdcontext.Context //nolint:containedctx // drivers pass one context everywhere
	disk       *diskbeta.Client
	filesystem *filesystembeta.Client
	volume     *volumebeta.Client
}

func (d *azureBeta) findDevice() (string, error) {
	if _, err := d.disk.Rescan(d.ctx, &diskapi.RescanRequest{}); err != nil {
		return "", err
	}
	reply, err := d.disk.ListDiskLocations(d.ctx, &diskapi.ListDiskLocationsRequest{})
	if err != nil {
		return "", err
	}
	for id, location := range reply.GetDiskLocations() {
		if location.GetLUNID() == "2" {
			return id, nil
		}
	}
	return "", errors.New("no disk has LUN 2")
}

func (d *azureBeta) exists(path string) (bool, error) {
	reply, err := d.filesystem.PathExists(d.ctx, &filesystemapi.PathExistsRequest{Path: withDrive(path),
		Context: filesystemapi.PathContext_POD})
	return reply.GetExists(), errors.Join(err, inResponse(reply.GetError()))
}

func inResponse(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}

func (d *azureBeta) stage(staging string) error {
	id, err := d.findDevice()
	if err != nil {
		return err
	}
	there, err := d.exists(staging)
	if err != nil {
		return err
	}
	if there {
		is, err := d.filesystem.IsMountPoint(d.ctx, &filesystemapi.IsMountPointRequest{Path: withDrive(staging)})
		if err != nil || is.GetIsMountPoint() {
			return err
		}
	}
	if _, err := d.disk.PartitionDisk(d.ctx, &diskapi.PartitionDiskRequest{DiskID: id}); err != nil {
		return err
	}
	list, err := d.volume.ListVolumesOnDisk(d.ctx, &volumeapi.ListVolumesOnDiskRequest{DiskId: id})
	if err != nil {
		return err
	}
	volume := list.GetVolumeIds()[0]
	is, err := d.volume.IsVolumeFormatted(d.ctx, &volumeapi.IsVolumeFormattedRequest{VolumeId: volume})
	if err != nil {
		return err
	}
	if !is.GetFormatted() {
		if _, err := d.volume.FormatVolume(d.ctx, &volumeapi.FormatVolumeRequest{VolumeId: volume}); err != nil {
			return err
		}
	}
	if _, err := d.volume.MountVolume(d.ctx,
		&volumeapi.MountVolumeRequest{VolumeId: volume, Path: withDrive(staging)}); err != nil {
		return err
	}
	_, err = d.volume.ResizeVolume(d.ctx, &volumeapi.ResizeVolumeRequest{VolumeId: id})
	return err
}

// publish removes whatever is there, even the right link.
func (d *azureBeta) publish(staging, publish string) error {
	there, err := d.exists(publish)
	if err != nil {
		return err
	}
	if there {
		if err := d.rmdir(publish); err != nil {
			return err
		}
	}
	if there, err := d.exists(publish); err != nil || there {
		return errors.Join(err, errors.New("the publish path is not free"))
	}
	reply, err := d.filesystem.LinkPath(d.ctx, &filesystemapi.LinkPathRequest{SourcePath: withDrive(staging),
		TargetPath: withDrive(publish)})
	return errors.Join(err, inResponse(reply.GetError()))
}

func (d *azureBeta) volumeAt(path string) (string, error) {
	reply, err := d.volume.GetVolumeIDFromMount(d.ctx, &volumeapi.VolumeIDFromMountRequest{Mount: path})
	return reply.GetVolumeId(), err
}

func (d *azureBeta) stats(publish string) (total, used int64, err error) {
	id, err := d.volumeAt(publish)
	if err != nil {
		return 0, 0, err
	}
	reply, err := d.volume.VolumeStats(d.ctx, &volumeapi.VolumeStatsRequest{VolumeId: id})
	return reply.GetVolumeSize(), reply.GetVolumeUsedSize(), err
}

// expand does what the driver does once its own comparison of sizes lets it.
func (d *azureBeta) expand(publish string) error {
	id, err := d.volumeAt(withDrive(publish))
	if err != nil {
		return err
	}
	_, err = d.volume.ResizeVolume(d.ctx, &volumeapi.ResizeVolumeRequest{VolumeId: id})
	return err
}

func (d *azureBeta) rmdir(path string) error {
	reply, err := d.filesystem.Rmdir(d.ctx,
		&filesystemapi.RmdirRequest{Path: withDrive(path), Context: filesystemapi.PathContext_POD, Force: true})
	return errors.Join(err, inResponse(reply.GetError()))
}

func (d *azureBeta) unpublish(publish string) error { return d.rmdir(publish) }

// unstage removes the live mount point; earlier failures are only warnings.
func (d *azureBeta) unstage(staging string) error {
	if id, err := d.volumeAt(staging); err == nil {
		_, _ = d.volume.WriteVolumeCache(d.ctx, &volumeapi.WriteVolumeCacheRequest{VolumeId: id})
	}
	return d.rmdir(staging)
}
