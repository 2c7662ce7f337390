// SPDX-License-Identifier: Apache-2.0

package mounter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// StageOptions adjust StageDisk. The zero value stages a volume to be written.
type StageOptions struct {
	// ReadOnly stages without partitioning, formatting or growing anything: a disk without a file system is
	// csiproxy.ErrNotFormatted. A disk that is offline is brought online. Windows has no read-only mounts: the container
	// runtime must enforce the rest.
	ReadOnly bool
	// KeepSize leaves a volume that is smaller than its disk as it is.
	KeepSize bool
	// Access is added to the access list of the root directory of a volume that holds nothing yet; Device.Access says
	// what became of it.
	Access []Access
}

// A Device is a volume and the disk that it lies on.
type Device struct {
	Disk   uint32 // the disk's number, which changes when disks come and go
	Volume string // \\?\Volume{GUID}\
	Size   Size
	Access AccessResult // whether StageOptions.Access is in the access list
}

// A Size is the size of a volume, in bytes.
type Size struct {
	Disk       int64 // of the whole disk, as a cloud counts: the capacity for CSI
	FileSystem int64 // some MiB less than the disk, for the partition table and what is reserved
}

// StageDisk waits for the one disk that matches and mounts its data volume at target, as NodeStageVolume must. It
// partitions a blank disk, brings it online, formats a blank volume with NTFS, makes the directory, mounts, and extends
// a volume that is smaller than its disk. It waits as long as the context's deadline allows, two minutes without one. A
// disk that does not come is both csiproxy.ErrDiskNotFound and context.DeadlineExceeded, and csicode gives it the code
// DeadlineExceeded.
//
// Work that was done before is not done again. A volume that is mounted at other directories, too, stays mounted there,
// and a mount point at target whose volume has gone is replaced. A disk or volume with other content is
// csiproxy.ErrNotBlank, several data volumes or several disks are csiproxy.ErrAmbiguous, and a target at which another
// volume is mounted is csiproxy.ErrOtherVolumeMounted, before anything is touched.
func (m *Mounter) StageDisk(ctx context.Context, match Match, target string, options StageOptions) (Device, error) {
	request, err := m.describe(ctx, match)
	if err != nil {
		return Device{}, err
	}
	request.TargetPath, request.ReadOnly, request.KeepSize = windowsPath(target), options.ReadOnly, options.KeepSize
	request.Access = entries(options.Access)
	answer, err := m.client.NodeSteps.StageDisk(ctx, request)
	_, numbered := request.GetDisk().(*api.StageDiskRequest_DiskNumber)
	if !numbered && errors.Is(err, csiproxy.ErrDiskNotFound) { // the agent waits, and answers just before the deadline
		err = fmt.Errorf("%w (%w)", err, context.DeadlineExceeded)
	}
	return Device{Disk: answer.GetDiskNumber(), Volume: answer.GetVolumeId(), Access: AccessResult(answer.GetAccess()),
		Size: Size{Disk: answer.GetDiskBytes(), FileSystem: answer.GetTotalBytes()}}, err
}

// Unstage removes what StageDisk, StageShare or Publish made at target: a mount point, a link or an empty directory,
// and no file. The disk of a mounted volume is taken offline afterwards, so that it can be detached without loss,
// unless a volume of it is mounted elsewhere. The mapping of a share is removed with its last user. Nothing there is
// success.
//
// Links are no use of a volume: they stay, and lead nowhere. While a program has files open on it, Unstage waits two
// seconds in all, flushes the volume and takes the disk offline all the same: later writes of the program are lost.
func (m *Mounter) Unstage(ctx context.Context, target string) error {
	_, err := m.client.NodeSteps.Unstage(ctx, &api.UnstageRequest{TargetPath: windowsPath(target)})
	return err
}

// Publish makes target a link to the directory source, and makes the directories above target. It replaces an empty
// directory or another link. A mounted volume is csiproxy.ErrOtherVolumeMounted, a directory with content
// csiproxy.ErrDirectoryNotEmpty.
func (m *Mounter) Publish(ctx context.Context, source, target string) error {
	_, err := m.client.NodeSteps.Publish(ctx,
		&api.PublishRequest{SourcePath: windowsPath(source), TargetPath: windowsPath(target)})
	return err
}

// Expand grows the volume that a path leads to as far as its disk allows, after the cloud made the disk at least bytes
// large, and returns the sizes. As long as Windows does not see that size it is csiproxy.ErrDiskTooSmall, and nothing
// changes: repeat it. 0 bytes asks for no size. A volume that is large enough is success, a share csiproxy.ErrOnShare.
func (m *Mounter) Expand(ctx context.Context, path string, bytes int64) (Size, error) {
	answer, err := m.client.NodeSteps.Expand(ctx, &api.ExpandRequest{TargetPath: windowsPath(path), SizeBytes: bytes})
	return Size{Disk: answer.GetDiskBytes(), FileSystem: answer.GetTotalBytes()}, err
}

// A Volume is how full and how well a volume or a share is.
type Volume struct {
	Total, Used, Available int64 // bytes; Windows has no inodes
	// SizeErr is why the sizes are not known and 0, nil if they are. It is a *csiproxy.Error, such as
	// csiproxy.ErrNotMounted, or for a share ErrServerUnreachable, ErrCredentials or ErrShareNotFound.
	SizeErr error

	Abnormal bool   // something is wrong, also without SizeErr
	Message  string // the condition, for people
	// Reason is what is wrong, of package reason, such as NOT_MOUNTED, or a Windows error. It is empty if nothing is.
	Reason string
}

// GetVolume returns the sizes and the condition of the volume or the share that a path leads to. A quota of the account
// with which the share is mapped counts.
//
// NodeGetVolumeStats needs the sizes, and fails with SizeErr without them. Up to CSI 1.12, a driver with
// VOLUME_CONDITION returns a usage of zeros and the condition in place of SizeErr: kubelet ignores a condition without
// a usage.
//
//	&csi.VolumeCondition{Abnormal: v.Abnormal, Message: v.Message}
//
// NodeGetVolumeHealth of CSI 1.13 needs an abnormal condition, with the status DEGRADED for reason.NearlyFull:
//
//	&csi.VolumeHealth_VolumeHealthEntry{Status: csi.VolumeHealthErrorType_INACCESSIBLE,
//		Reason: v.Reason, Message: v.Message}
//
// Abnormal are
//
//   - DISK_NOT_FOUND: a mount point whose disk is gone or offline,
//   - NOT_MOUNTED: a directory at which nothing is mounted, a share that is not mapped, a link that leads nowhere,
//   - NOT_ANSWERING: a share whose server does not answer within ten seconds, a volume that hangs,
//   - LOGON_FAILURE, BAD_NET_NAME and others: a share that its server refuses or has no longer,
//   - NOT_FORMATTED, DISK_CORRUPT: a volume without a file system, or with one that Windows says is damaged,
//   - NEARLY_FULL, with sizes: less than a twentieth and less than 1 GiB is available.
//
// It shows neither a read-only disk or file system nor NTFS that is marked dirty but still answers. A path that does
// not exist is fs.ErrNotExist, as NodeGetVolumeStats must tell it from an abnormal volume. After another error the
// condition is not known.
func (m *Mounter) GetVolume(ctx context.Context, path string) (Volume, error) {
	path = windowsPath(path)
	answer, err := m.client.NodeSteps.GetVolume(ctx, &api.GetVolumeRequest{TargetPath: path})
	if errors.Is(err, csiproxy.ErrPathNotFound) {
		return Volume{}, &fs.PathError{Op: "look at", Path: path, Err: fs.ErrNotExist}
	}
	if err != nil {
		return Volume{}, err
	}
	return Volume{Total: answer.GetTotalBytes(), Used: answer.GetUsedBytes(), Available: answer.GetAvailableBytes(),
		SizeErr: csiproxy.SizeError(answer), Abnormal: answer.GetAbnormal(), Message: answer.GetMessage(),
		Reason: answer.GetReason()}, nil
}
