// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
)

// calls are the methods as tests write their calls: with the values that a request has.
type calls struct{ *Node }

func by(n *Node) calls { return calls{n} }

func (c calls) PartitionDisk(ctx context.Context, number uint32) error {
	_, err := c.Disks.PartitionDisk(ctx, &diskapi.PartitionDiskRequest{DiskNumber: number})
	return err
}

func (c calls) SetDiskState(ctx context.Context, number uint32, online bool) error {
	_, err := c.Disks.SetDiskState(ctx, &diskapi.SetDiskStateRequest{DiskNumber: number, IsOnline: online})
	return err
}

func (c calls) GetDiskState(ctx context.Context, number uint32) (bool, error) {
	r, err := c.Disks.GetDiskState(ctx, &diskapi.GetDiskStateRequest{DiskNumber: number})
	return r.GetIsOnline(), err
}

func (c calls) GetDiskStats(ctx context.Context, number uint32) (int64, error) {
	r, err := c.Disks.GetDiskStats(ctx, &diskapi.GetDiskStatsRequest{DiskNumber: number})
	return r.GetTotalBytes(), err
}

func (c calls) ListDiskIDs(ctx context.Context) (map[uint32]*diskapi.DiskIDs, error) {
	r, err := c.Disks.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{})
	return r.GetDiskIDs(), err
}

func (c calls) ListDiskLocations(ctx context.Context) (map[uint32]*diskapi.DiskLocation, error) {
	r, err := c.Disks.ListDiskLocations(ctx, &diskapi.ListDiskLocationsRequest{})
	return r.GetDiskLocations(), err
}

func (c calls) Rescan(ctx context.Context) error {
	_, err := c.Disks.Rescan(ctx, &diskapi.RescanRequest{})
	return err
}

func (c calls) ListVolumesOnDisk(ctx context.Context, number, partition uint32) ([]string, error) {
	r, err := c.Volumes.ListVolumesOnDisk(ctx,
		&volumeapi.ListVolumesOnDiskRequest{DiskNumber: number, PartitionNumber: partition})
	return r.GetVolumeIds(), err
}

func (c calls) MountVolume(ctx context.Context, id, path string) error {
	_, err := c.Volumes.MountVolume(ctx, &volumeapi.MountVolumeRequest{VolumeId: id, TargetPath: path})
	return err
}

func (c calls) UnmountVolume(ctx context.Context, id, path string) error {
	_, err := c.Volumes.UnmountVolume(ctx, &volumeapi.UnmountVolumeRequest{VolumeId: id, TargetPath: path})
	return err
}

func (c calls) IsVolumeFormatted(ctx context.Context, id string) (bool, error) {
	r, err := c.Volumes.IsVolumeFormatted(ctx, &volumeapi.IsVolumeFormattedRequest{VolumeId: id})
	return r.GetFormatted(), err
}

func (c calls) FormatVolume(ctx context.Context, id string) error {
	_, err := c.Volumes.FormatVolume(ctx, &volumeapi.FormatVolumeRequest{VolumeId: id})
	return err
}

func (c calls) ResizeVolume(ctx context.Context, id string, bytes int64) error {
	_, err := c.Volumes.ResizeVolume(ctx, &volumeapi.ResizeVolumeRequest{VolumeId: id, SizeBytes: bytes})
	return err
}

func (c calls) GetVolumeStats(ctx context.Context, id string) (*volumeapi.GetVolumeStatsResponse, error) {
	return c.Volumes.GetVolumeStats(ctx, &volumeapi.GetVolumeStatsRequest{VolumeId: id})
}

func (c calls) GetDiskNumberFromVolumeID(ctx context.Context, id string) (uint32, error) {
	r, err := c.Volumes.GetDiskNumberFromVolumeID(ctx, &volumeapi.GetDiskNumberFromVolumeIDRequest{VolumeId: id})
	return r.GetDiskNumber(), err
}

func (c calls) GetVolumeIDFromTargetPath(ctx context.Context, path string) (string, error) {
	r, err := c.Volumes.GetVolumeIDFromTargetPath(ctx, &volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return r.GetVolumeId(), err
}

func (c calls) GetClosestVolumeIDFromTargetPath(ctx context.Context, path string) (string, error) {
	r, err := c.Volumes.GetClosestVolumeIDFromTargetPath(ctx,
		&volumeapi.GetClosestVolumeIDFromTargetPathRequest{TargetPath: path})
	return r.GetVolumeId(), err
}

func (c calls) WriteVolumeCache(ctx context.Context, id string) error {
	_, err := c.Volumes.WriteVolumeCache(ctx, &volumeapi.WriteVolumeCacheRequest{VolumeId: id})
	return err
}

func (c calls) PathExists(ctx context.Context, path string) (bool, error) {
	r, err := c.Filesystem.PathExists(ctx, &filesystemapi.PathExistsRequest{Path: path})
	return r.GetExists(), err
}

func (c calls) IsSymlink(ctx context.Context, path string) (bool, error) {
	r, err := c.Filesystem.IsSymlink(ctx, &filesystemapi.IsSymlinkRequest{Path: path})
	return r.GetIsSymlink(), err
}

func (c calls) Mkdir(ctx context.Context, path string) error {
	_, err := c.Filesystem.Mkdir(ctx, &filesystemapi.MkdirRequest{Path: path})
	return err
}

func (c calls) Rmdir(ctx context.Context, path string, force bool) error {
	_, err := c.Filesystem.Rmdir(ctx, &filesystemapi.RmdirRequest{Path: path, Force: force})
	return err
}

func (c calls) RmdirContents(ctx context.Context, path string) error {
	_, err := c.Filesystem.RmdirContents(ctx, &filesystemapi.RmdirContentsRequest{Path: path})
	return err
}

func (c calls) CreateSymlink(ctx context.Context, source, target string) error {
	_, err := c.Filesystem.CreateSymlink(ctx, &filesystemapi.CreateSymlinkRequest{SourcePath: source, TargetPath: target})
	return err
}

func (c calls) NewSMBGlobalMapping(ctx context.Context, remote, local, user, password string) error {
	_, err := c.SMB.NewSMBGlobalMapping(ctx, &smbapi.NewSmbGlobalMappingRequest{RemotePath: remote, LocalPath: local,
		Username: user, Password: password})
	return err
}

func (c calls) RemoveSMBGlobalMapping(ctx context.Context, remote string) error {
	_, err := c.SMB.RemoveSMBGlobalMapping(ctx, &smbapi.RemoveSmbGlobalMappingRequest{RemotePath: remote})
	return err
}

func (c calls) ConnectTarget(ctx context.Context, at *iscsiapi.TargetPortal, iqn, secret string) error {
	r := &iscsiapi.ConnectTargetRequest{TargetPortal: at, Iqn: iqn}
	if secret != "" {
		r.AuthType, r.ChapUsername, r.ChapSecret = iscsiapi.AuthenticationType_ONE_WAY_CHAP, "user", secret
	}
	_, err := c.ISCSI.ConnectTarget(ctx, r)
	return err
}

func (c calls) DisconnectTarget(ctx context.Context, at *iscsiapi.TargetPortal, iqn string) error {
	_, err := c.ISCSI.DisconnectTarget(ctx, &iscsiapi.DisconnectTargetRequest{TargetPortal: at, Iqn: iqn})
	return err
}

func (c calls) GetTargetDisks(ctx context.Context, at *iscsiapi.TargetPortal, iqn string) ([]string, error) {
	r, err := c.ISCSI.GetTargetDisks(ctx, &iscsiapi.GetTargetDisksRequest{TargetPortal: at, Iqn: iqn})
	return r.GetDiskIDs(), err
}

func (c calls) DiscoverTargetPortal(ctx context.Context, at *iscsiapi.TargetPortal) ([]string, error) {
	r, err := c.ISCSI.DiscoverTargetPortal(ctx, &iscsiapi.DiscoverTargetPortalRequest{TargetPortal: at})
	return r.GetIqns(), err
}

func (c calls) GetService(ctx context.Context, name string) (*systemapi.GetServiceResponse, error) {
	return c.System.GetService(ctx, &systemapi.GetServiceRequest{Name: name})
}

func (c calls) StartService(ctx context.Context, name string) error {
	_, err := c.System.StartService(ctx, &systemapi.StartServiceRequest{Name: name})
	return err
}

func (c calls) StopService(ctx context.Context, name string, force bool) error {
	_, err := c.System.StopService(ctx, &systemapi.StopServiceRequest{Name: name, Force: force})
	return err
}

func (c calls) GetVolume(ctx context.Context, path string) (*nodesteps.GetVolumeResponse, error) {
	return c.Steps.GetVolume(ctx, &nodesteps.GetVolumeRequest{TargetPath: path})
}
