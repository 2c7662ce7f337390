// SPDX-License-Identifier: Apache-2.0

// Package calls has the calls of the newest versions as tests write them: each with its arguments and its answer alone.
package calls

import (
	"context"
	"fmt"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	stepsapi "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// Calls are the calls of a client, in one context. A call is named as in the API and returns its error.
type Calls struct {
	ctx     context.Context //nolint:containedctx // a test's
	clients func() *csiproxy.Client
}

// What every emulated node has: the account of its shares, and the address of its iSCSI targets.
const (
	User     = "csi"
	Password = "csi-password"
	Array    = "192.0.2.10"
)

// By returns the calls of a client, which is asked for each time.
func By(ctx context.Context, clients func() *csiproxy.Client) *Calls { return &Calls{ctx, clients} }

// Within returns the same calls with another context.
func (c *Calls) Within(ctx context.Context) *Calls { return &Calls{ctx, c.clients} }

// Steps are the calls of the group nodesteps.
func (c *Calls) Steps() csiproxy.NodeStepsClient { return c.clients().NodeSteps }

// Context is the one of the calls.
func (c *Calls) Context() context.Context { return c.ctx }

// done is the error of a call whose answer says nothing.
func done[T any](_ T, err error) error { return err }

func (c *Calls) Rescan() error {
	return done(c.clients().Disk.Rescan(c.ctx, &diskapi.RescanRequest{}))
}

func (c *Calls) ListDiskIDs() (map[uint32]*diskapi.DiskIDs, error) {
	r, err := c.clients().Disk.ListDiskIDs(c.ctx, &diskapi.ListDiskIDsRequest{})
	return r.GetDiskIDs(), err
}

func (c *Calls) ListDiskLocations() (map[uint32]*diskapi.DiskLocation, error) {
	r, err := c.clients().Disk.ListDiskLocations(c.ctx, &diskapi.ListDiskLocationsRequest{})
	return r.GetDiskLocations(), err
}

func (c *Calls) PartitionDisk(number uint32) error {
	return done(c.clients().Disk.PartitionDisk(c.ctx, &diskapi.PartitionDiskRequest{DiskNumber: number}))
}

func (c *Calls) SetDiskState(number uint32, online bool) error {
	return done(c.clients().Disk.SetDiskState(c.ctx, &diskapi.SetDiskStateRequest{DiskNumber: number, IsOnline: online}))
}

func (c *Calls) GetDiskState(number uint32) (online bool, err error) {
	r, err := c.clients().Disk.GetDiskState(c.ctx, &diskapi.GetDiskStateRequest{DiskNumber: number})
	return r.GetIsOnline(), err
}

func (c *Calls) GetDiskStats(number uint32) (size int64, err error) {
	r, err := c.clients().Disk.GetDiskStats(c.ctx, &diskapi.GetDiskStatsRequest{DiskNumber: number})
	return r.GetTotalBytes(), err
}

func (c *Calls) ListVolumesOnDisk(number uint32) ([]string, error) {
	r, err := c.clients().Volume.ListVolumesOnDisk(c.ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: number})
	return r.GetVolumeIds(), err
}

func (c *Calls) FormatVolume(id string) error {
	return done(c.clients().Volume.FormatVolume(c.ctx, &volumeapi.FormatVolumeRequest{VolumeId: id}))
}

func (c *Calls) IsVolumeFormatted(id string) (bool, error) {
	r, err := c.clients().Volume.IsVolumeFormatted(c.ctx, &volumeapi.IsVolumeFormattedRequest{VolumeId: id})
	return r.GetFormatted(), err
}

func (c *Calls) MountVolume(id, path string) error {
	return done(c.clients().Volume.MountVolume(c.ctx, &volumeapi.MountVolumeRequest{VolumeId: id, TargetPath: path}))
}

func (c *Calls) UnmountVolume(id, path string) error {
	return done(c.clients().Volume.UnmountVolume(c.ctx, &volumeapi.UnmountVolumeRequest{VolumeId: id, TargetPath: path}))
}

// ResizeVolume grows to a size in bytes; 0: as far as the disk allows.
func (c *Calls) ResizeVolume(id string, size int64) error {
	return done(c.clients().Volume.ResizeVolume(c.ctx, &volumeapi.ResizeVolumeRequest{VolumeId: id, SizeBytes: size}))
}

func (c *Calls) GetVolumeStats(id string) (total, used int64, err error) {
	r, err := c.clients().Volume.GetVolumeStats(c.ctx, &volumeapi.GetVolumeStatsRequest{VolumeId: id})
	return r.GetTotalBytes(), r.GetUsedBytes(), err
}

func (c *Calls) GetDiskNumberFromVolumeID(id string) (uint32, error) {
	r, err := c.clients().Volume.GetDiskNumberFromVolumeID(c.ctx,
		&volumeapi.GetDiskNumberFromVolumeIDRequest{VolumeId: id})
	return r.GetDiskNumber(), err
}

func (c *Calls) GetVolumeIDFromTargetPath(path string) (id string, err error) {
	r, err := c.clients().Volume.GetVolumeIDFromTargetPath(c.ctx,
		&volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return r.GetVolumeId(), err
}

func (c *Calls) GetClosestVolumeIDFromTargetPath(path string) (id string, err error) {
	r, err := c.clients().Volume.GetClosestVolumeIDFromTargetPath(c.ctx,
		&volumeapi.GetClosestVolumeIDFromTargetPathRequest{TargetPath: path})
	return r.GetVolumeId(), err
}

func (c *Calls) WriteVolumeCache(id string) error {
	return done(c.clients().Volume.WriteVolumeCache(c.ctx, &volumeapi.WriteVolumeCacheRequest{VolumeId: id}))
}

func (c *Calls) PathExists(path string) (bool, error) {
	r, err := c.clients().Filesystem.PathExists(c.ctx, &filesystemapi.PathExistsRequest{Path: path})
	return r.GetExists(), err
}

func (c *Calls) Mkdir(path string) error {
	return done(c.clients().Filesystem.Mkdir(c.ctx, &filesystemapi.MkdirRequest{Path: path}))
}

func (c *Calls) Rmdir(path string, force bool) error {
	return done(c.clients().Filesystem.Rmdir(c.ctx, &filesystemapi.RmdirRequest{Path: path, Force: force}))
}

func (c *Calls) RmdirContents(path string) error {
	return done(c.clients().Filesystem.RmdirContents(c.ctx, &filesystemapi.RmdirContentsRequest{Path: path}))
}

// CreateSymlink makes a link to source at target.
func (c *Calls) CreateSymlink(source, target string) error {
	return done(c.clients().Filesystem.CreateSymlink(c.ctx,
		&filesystemapi.CreateSymlinkRequest{SourcePath: source, TargetPath: target}))
}

func (c *Calls) IsSymlink(path string) (bool, error) {
	r, err := c.clients().Filesystem.IsSymlink(c.ctx, &filesystemapi.IsSymlinkRequest{Path: path})
	return r.GetIsSymlink(), err
}

// NewSmbGlobalMapping maps a share; local: the path of the link to it, "" for none.
func (c *Calls) NewSmbGlobalMapping(remote, local, user, password string) error {
	return done(c.clients().SMB.NewSmbGlobalMapping(c.ctx, &smbapi.NewSmbGlobalMappingRequest{
		RemotePath: remote, LocalPath: local, Username: user, Password: password,
	}))
}

func (c *Calls) RemoveSmbGlobalMapping(remote string) error {
	return done(c.clients().SMB.RemoveSmbGlobalMapping(c.ctx, &smbapi.RemoveSmbGlobalMappingRequest{RemotePath: remote}))
}

func (c *Calls) GetBIOSSerialNumber() (string, error) {
	r, err := c.clients().System.GetBIOSSerialNumber(c.ctx, &systemapi.GetBIOSSerialNumberRequest{})
	return r.GetSerialNumber(), err
}

func (c *Calls) GetService(name string) (*systemapi.GetServiceResponse, error) {
	return c.clients().System.GetService(c.ctx, &systemapi.GetServiceRequest{Name: name})
}

func (c *Calls) StartService(name string) error {
	return done(c.clients().System.StartService(c.ctx, &systemapi.StartServiceRequest{Name: name}))
}

func (c *Calls) StopService(name string, force bool) error {
	return done(c.clients().System.StopService(c.ctx, &systemapi.StopServiceRequest{Name: name, Force: force}))
}

// StageDisk stages a disk by its number.
func (c *Calls) StageDisk(number uint32, path string) error {
	return done(c.Steps().StageDisk(c.ctx, &stepsapi.StageDiskRequest{TargetPath: path,
		Disk: &stepsapi.StageDiskRequest_DiskNumber{DiskNumber: number}}))
}

// GetVolume returns the sizes of the volume or share at a path in bytes, 0 if they are not known.
func (c *Calls) GetVolume(path string) (total, used int64, err error) {
	r, err := c.Steps().GetVolume(c.ctx, &stepsapi.GetVolumeRequest{TargetPath: path})
	return r.GetTotalBytes(), r.GetUsedBytes(), err
}

// StageShare stages a share with the account that every emulated node has.
func (c *Calls) StageShare(remote, path string) error {
	return done(c.Steps().StageShare(c.ctx, &stepsapi.StageShareRequest{RemotePath: remote, TargetPath: path,
		Username: User, Password: Password}))
}

func (c *Calls) Publish(source, path string) error {
	return done(c.Steps().Publish(c.ctx, &stepsapi.PublishRequest{SourcePath: source, TargetPath: path}))
}

func (c *Calls) Unstage(path string) error {
	return done(c.Steps().Unstage(c.ctx, &stepsapi.UnstageRequest{TargetPath: path}))
}

func portalAt(address string) *iscsiapi.TargetPortal {
	return &iscsiapi.TargetPortal{TargetAddress: address}
}

func (c *Calls) AddTargetPortal(address string) error {
	return done(c.clients().ISCSI.AddTargetPortal(c.ctx,
		&iscsiapi.AddTargetPortalRequest{TargetPortal: portalAt(address)}))
}

func (c *Calls) DiscoverTargetPortal(address string) (iqns []string, err error) {
	r, err := c.clients().ISCSI.DiscoverTargetPortal(c.ctx,
		&iscsiapi.DiscoverTargetPortalRequest{TargetPortal: portalAt(address)})
	return r.GetIqns(), err
}

func (c *Calls) RemoveTargetPortal(address string) error {
	return done(c.clients().ISCSI.RemoveTargetPortal(c.ctx,
		&iscsiapi.RemoveTargetPortalRequest{TargetPortal: portalAt(address)}))
}

// ListTargetPortals returns ADDRESS:PORT of each.
func (c *Calls) ListTargetPortals() (portals []string, err error) {
	r, err := c.clients().ISCSI.ListTargetPortals(c.ctx, &iscsiapi.ListTargetPortalsRequest{})
	for _, p := range r.GetTargetPortals() {
		portals = append(portals, fmt.Sprintf("%s:%d", p.GetTargetAddress(), p.GetTargetPort()))
	}
	return portals, err
}

// ConnectTarget logs in to a target of Array without authentication.
func (c *Calls) ConnectTarget(iqn string) error { return c.ConnectTargetAs(iqn, 0, "", "") }

// ConnectTargetAs logs in to a target of Array.
func (c *Calls) ConnectTargetAs(iqn string, how iscsiapi.AuthenticationType, user, secret string) error {
	return done(c.clients().ISCSI.ConnectTarget(c.ctx, &iscsiapi.ConnectTargetRequest{TargetPortal: portalAt(Array),
		Iqn: iqn, AuthType: how, ChapUsername: user, ChapSecret: secret}))
}

// DisconnectTarget logs out of a target of Array.
func (c *Calls) DisconnectTarget(iqn string) error {
	return done(c.clients().ISCSI.DisconnectTarget(c.ctx,
		&iscsiapi.DisconnectTargetRequest{TargetPortal: portalAt(Array), Iqn: iqn}))
}

// GetTargetDisks returns the disks of a target of Array.
func (c *Calls) GetTargetDisks(iqn string) (disks []string, err error) {
	r, err := c.clients().ISCSI.GetTargetDisks(c.ctx,
		&iscsiapi.GetTargetDisksRequest{TargetPortal: portalAt(Array), Iqn: iqn})
	return r.GetDiskIDs(), err
}

func (c *Calls) SetMutualChapSecret(secret string) error {
	return done(c.clients().ISCSI.SetMutualChapSecret(c.ctx,
		&iscsiapi.SetMutualChapSecretRequest{MutualChapSecret: secret}))
}
