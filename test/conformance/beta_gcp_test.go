// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	stdcontext "context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta2"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1beta1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1beta1"
	diskbeta "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1beta2"
	filesystembeta "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1beta1"
	volumebeta "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1beta1"
)

// TestGCPBeta plays the GCP persistent disk driver on the beta versions that it falls back to.
func TestGCPBeta(t *testing.T) {
	n := startBeta(t, "disk=v1beta2", "filesystem=v1beta1", "volume=v1beta1")
	fallback(t)
	d := &gcpBeta{
		ctx: t.Context(), disk: present(t, diskbeta.NewClient), filesystem: present(t, filesystembeta.NewClient),
		volume: present(t, volumebeta.NewClient),
	}
	live(n, d)

	state, err := d.disk.GetAttachState(d.ctx, &diskapi.GetAttachStateRequest{DiskID: "2"})
	noError(t, err)
	if state.GetIsOnline() {
		t.Error("unstaging left the disk online")
	}
	_, err = d.filesystem.Mkdir(d.ctx, &filesystemapi.MkdirRequest{Path: pods + `\taken`})
	noError(t, err)
	wantCode(t, "a link where a directory is", d.mountSensitive(betaStaging, pods+`\taken`), codes.AlreadyExists)
}

// gcpBeta finds its disk by the last word of page 83, and in several calls passes paths as kubelet gives them.
type gcpBeta struct {
	ctx        stdcontext.Context //nolint:containedctx // drivers pass one context everywhere
	disk       *diskbeta.Client
	filesystem *filesystembeta.Client
	volume     *volumebeta.Client
}

func (d *gcpBeta) findDevice() (string, error) {
	reply, err := d.disk.ListDiskIDs(d.ctx, &diskapi.ListDiskIDsRequest{})
	if err != nil {
		return "", err
	}
	for id, known := range reply.GetDiskIDs() {
		if words := strings.Fields(known.GetIdentifiers()["page83"]); len(words) > 0 && words[len(words)-1] == "disk-2" {
			return id, nil
		}
	}
	return "", errors.New("no disk is called disk-2")
}

// mounted takes any error, above all that the path is missing, for "not mounted".
func (d *gcpBeta) mounted(path string) bool {
	reply, err := d.filesystem.IsMountPoint(d.ctx, &filesystemapi.IsMountPointRequest{Path: path})
	return err == nil && reply.GetIsMountPoint()
}

func (d *gcpBeta) stage(staging string) error {
	id, err := d.findDevice()
	if err != nil || d.mounted(staging) {
		return err
	}
	if _, err := d.disk.DiskStats(d.ctx, &diskapi.DiskStatsRequest{DiskID: id}); err != nil {
		return err
	}
	if _, err := d.disk.PartitionDisk(d.ctx, &diskapi.PartitionDiskRequest{DiskID: id}); err != nil {
		return err
	}
	if _, err := d.disk.SetAttachState(d.ctx, &diskapi.SetAttachStateRequest{DiskID: id, IsOnline: true}); err != nil {
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
	if _, err := d.volume.MountVolume(d.ctx, &volumeapi.MountVolumeRequest{VolumeId: volume, Path: staging}); err != nil {
		return err
	}
	return d.resize(staging)
}

func (d *gcpBeta) resize(path string) error {
	at, err := d.volume.GetVolumeIDFromMount(d.ctx, &volumeapi.VolumeIDFromMountRequest{Mount: path})
	if err != nil {
		return err
	}
	_, err = d.volume.ResizeVolume(d.ctx, &volumeapi.ResizeVolumeRequest{VolumeId: at.GetVolumeId()})
	return err
}

func (d *gcpBeta) publish(staging, publish string) error {
	if d.mounted(publish) {
		return nil
	}
	there, err := d.filesystem.PathExists(d.ctx, &filesystemapi.PathExistsRequest{Path: withDrive(publish),
		Context: filesystemapi.PathContext_POD})
	if err != nil {
		return err
	}
	if there.GetExists() {
		if err := d.rmdir(publish); err != nil {
			return err
		}
	}
	return d.mountSensitive(staging, publish)
}

// mountSensitive makes the link, and takes an error in the response for a failure.
func (d *gcpBeta) mountSensitive(from, to string) error {
	reply, err := d.filesystem.LinkPath(d.ctx, &filesystemapi.LinkPathRequest{SourcePath: withDrive(from),
		TargetPath: withDrive(to)})
	if err != nil {
		return err
	}
	if reply.GetError() != "" {
		return fmt.Errorf("in the response: %s", reply.GetError())
	}
	return nil
}

func (d *gcpBeta) stats(publish string) (total, used int64, err error) {
	at, err := d.volume.GetVolumeIDFromMount(d.ctx, &volumeapi.VolumeIDFromMountRequest{Mount: publish})
	if err != nil {
		return 0, 0, err
	}
	reply, err := d.volume.VolumeStats(d.ctx, &volumeapi.VolumeStatsRequest{VolumeId: at.GetVolumeId()})
	return reply.GetVolumeSize(), reply.GetVolumeUsedSize(), err
}

func (d *gcpBeta) expand(publish string) error {
	id, err := d.findDevice()
	if err != nil {
		return err
	}
	if err := d.resize(publish); err != nil {
		return err
	}
	reply, err := d.disk.DiskStats(d.ctx, &diskapi.DiskStatsRequest{DiskID: id})
	if err == nil && reply.GetDiskSize() != 30*gib {
		err = fmt.Errorf("the disk has %d bytes", reply.GetDiskSize())
	}
	return err
}

// rmdir removes with force, with the context that it sends for all paths.
func (d *gcpBeta) rmdir(path string) error {
	_, err := d.filesystem.Rmdir(d.ctx,
		&filesystemapi.RmdirRequest{Path: withDrive(path), Context: filesystemapi.PathContext_POD, Force: true})
	return err
}

func (d *gcpBeta) unpublish(publish string) error { return d.rmdir(publish) }

func (d *gcpBeta) unstage(staging string) error {
	at, err := d.volume.GetVolumeIDFromMount(d.ctx, &volumeapi.VolumeIDFromMountRequest{Mount: withDrive(staging)})
	if err != nil {
		return err
	}
	if _, err := d.volume.DismountVolume(d.ctx, &volumeapi.DismountVolumeRequest{VolumeId: at.GetVolumeId(),
		Path: withDrive(staging)}); err != nil {
		return err
	}
	if err := d.rmdir(staging); err != nil {
		return err
	}
	number, err := d.volume.GetVolumeDiskNumber(d.ctx, &volumeapi.VolumeDiskNumberRequest{VolumeId: at.GetVolumeId()})
	if err != nil {
		return err
	}
	_, err = d.disk.SetAttachState(d.ctx,
		&diskapi.SetAttachStateRequest{DiskID: fmt.Sprint(number.GetDiskNumber()), IsOnline: false})
	return err
}
