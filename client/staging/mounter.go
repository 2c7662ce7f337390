// SPDX-License-Identifier: Apache-2.0

// Package staging does the steps of a CSI node service on a Windows node through a CSI Proxy agent: [Mounter.StageDisk]
// for the disk that a [stepwise.Match] picks, [Mounter.ExpandTo], [Mounter.Usage] and [Mounter.Condition], and [Shares]
// for SMB. All of it can be repeated after a failure or a crash anywhere.
//
// Drivers in Go import package mounter, which adds the one method for which k8s.io/mount-utils is needed. Where an
// agent does not do a step in one call, package stepwise does it with single calls.
//
// Failures are told apart with errors.Is: the kinds are the Err variables of package csiproxy, stepwise.ErrNotStaged,
// fs.ErrInvalid for an argument that makes no sense, and fs.ErrNotExist. An error of the agent is a *csiproxy.Error and
// has a gRPC code.
//
// Paths have the forms that kubelet uses: with slashes or backslashes, with or without a drive.
package staging

import (
	"context"
	"errors"
	"io/fs"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/calls"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/client/stepwise"
)

// A Mounter mounts through one agent. It keeps no state and is safe for concurrent use. Where the agent serves the
// group nodesteps, a step is one call, and otherwise several.
type Mounter struct {
	*stepwise.Mounter
	client      *calls.Client
	seesKubelet bool
}

// New returns a mounter that calls an agent, or the node in this process, through a client. The caller closes the
// client.
func New(client *calls.Client) *Mounter {
	return &Mounter{Mounter: stepwise.New(client), client: client}
}

// WithKubelet returns a mounter that also looks into kubelet's directory, for what the API does not list: GetMountRefs
// finds the other paths of a volume, and Shares counts the links of drivers that do not record theirs. The path is that
// of the directory on the node, and files the directory as this process sees it: a driver whose container has it
// mounted gives os.DirFS(`C:\var\lib\kubelet`), and a test on Linux os.DirFS(node.HostPath(`C:\var\lib\kubelet`)).
//
// Only names and links are read. Links to shares are found if files is an fs.ReadLinkFS, as os.DirFS is.
func (m *Mounter) WithKubelet(path string, files fs.FS) *Mounter {
	return &Mounter{m.Mounter.WithKubelet(path, files), m.client, files != nil}
}

// served reports whether an agent that answered with a failure does steps in one call for this client. An agent without
// the group nodesteps, or with a policy from before there was one, is asked for the single calls instead: nothing has
// been done, or what has been done is done again without harm.
func served(err error) bool {
	return !errors.Is(err, calls.ErrUnsupported) && !errors.Is(err, calls.ErrNoAgent) &&
		!calls.HasReason(err, reason.Policy)
}

// UnmountDevice is Unmount for the path at which StageDisk or FormatAndMount mounted a disk. Then it takes the disk
// offline, so that it can be detached without loss; unless the path was only a link to the volume, or a mounter with
// WithKubelet sees the volume at another path. If it fails in between, the volume is flushed and unmounted, and the
// disk stays online, as nothing says any more which one it was: UnstageDisk finds it again. A volume whose disk has
// already gone is unmounted as well.
//
// An agent that serves nodesteps takes no disk offline but the volume's. With single calls, a disk that takes the
// number of the volume's just before the last call goes offline.
func (m *Mounter) UnmountDevice(ctx context.Context, target string) error {
	// A mounter that sees kubelet's directory decides itself: the agent does not look there.
	if !m.seesKubelet {
		request := &api.UnstageRequest{TargetPath: stepwise.WindowsPath(target)}
		if _, err := m.client.NodeSteps.Unstage(ctx, request); served(err) {
			return err
		}
	}
	return m.Mounter.UnmountDevice(ctx, target)
}

// ExpandTo grows the volume that a path leads to as far as its disk allows, after the cloud made the disk at least
// bytes large, and returns the sizes, of which Disk is the capacity for NodeExpandVolume. As long as Windows does not
// see that size it is csiproxy.ErrDiskTooSmall, and nothing changes. 0 bytes asks for no size. A volume that is large
// enough is success.
func (m *Mounter) ExpandTo(ctx context.Context, path string, bytes int64) (stepwise.Size, error) {
	request := &api.ExpandRequest{TargetPath: stepwise.WindowsPath(path), SizeBytes: bytes}
	answer, err := m.client.NodeSteps.Expand(ctx, request)
	switch {
	case !served(err):
		return m.Mounter.ExpandTo(ctx, path, bytes)
	case errors.Is(err, calls.ErrDiskTooSmall):
		size, _ := m.SizeOf(ctx, path) // for people: the error says the same
		return size, err
	}
	return stepwise.Size{Disk: answer.GetDiskBytes(), FileSystem: answer.GetTotalBytes()}, err
}

// overhead is more than what the partition table, the reserved partition and the alignment take of a disk.
const overhead = 32 << 20

// NeedResize reports whether the file system that a path leads to is so much smaller than its disk that it can grow,
// after Windows has looked at the disks again. It says true as well of a disk with other partitions, where there is
// nothing to gain: ExpandTo and StageDisk need no such question, because they change nothing then.
func (m *Mounter) NeedResize(ctx context.Context, path string) (bool, error) {
	if _, err := m.client.Disk.Rescan(ctx, &calls.RescanRequest{}); err != nil {
		return false, err
	}
	size, err := m.SizeOf(ctx, path)
	return err == nil && size.Disk-size.FileSystem > overhead, err
}

// Expand is ExpandTo whatever the size of the disk. It returns the size of the file system in bytes.
func (m *Mounter) Expand(ctx context.Context, path string) (bytes int64, err error) {
	size, err := m.ExpandTo(ctx, path, 0)
	return size.FileSystem, err
}

// Usage returns the usage of the volume or the share that a path leads to. A quota of the account with which the share
// is mapped counts. Windows has no inodes. With an agent that does not know how full a share is, a link that leads to
// no volume is csiproxy.ErrUnsupported.
func (m *Mounter) Usage(ctx context.Context, path string) (stepwise.Usage, error) {
	answer, err := m.client.NodeSteps.GetUsage(ctx, &api.GetUsageRequest{TargetPath: stepwise.WindowsPath(path)})
	if !served(err) {
		return m.Mounter.Usage(ctx, path)
	}
	return stepwise.Usage{Total: answer.GetTotalBytes(), Used: answer.GetUsedBytes(),
		Available: answer.GetAvailableBytes()}, err
}

// Condition returns the condition of the volume that is mounted or linked at a path. It finds
//
//   - a mount point whose disk is gone or offline,
//   - a link that leads nowhere: to a mount point that is gone, or to a share that is not mapped, whose server does not
//     answer within ten seconds or refuses the mapping's credentials, or that has no such directory any more,
//   - a directory at which nothing is mounted,
//   - a volume without a file system, or with one that Windows says is damaged,
//   - a volume that is nearly full.
//
// The API has no call that shows a read-only disk or file system, or NTFS that is marked dirty but still answers. Such
// volumes are normal here, and so is a full share, which Usage shows. A path that does not exist is fs.ErrNotExist, as
// NodeGetVolumeStats must tell it from an abnormal volume. Other errors say that the condition is not known. It changes
// nothing.
func (m *Mounter) Condition(ctx context.Context, path string) (stepwise.Condition, error) {
	path = stepwise.WindowsPath(path)
	answer, err := m.client.NodeSteps.GetVolume(ctx, &api.GetVolumeRequest{TargetPath: path})
	switch {
	case errors.Is(err, calls.ErrPathNotFound):
		return stepwise.Condition{}, &fs.PathError{Op: "look at", Path: path, Err: fs.ErrNotExist}
	case !served(err):
		return m.Mounter.Condition(ctx, path)
	}
	condition := stepwise.Condition{Abnormal: answer.GetAbnormal(), Message: answer.GetMessage()}
	if condition.Abnormal {
		condition.Cause = stepwise.CauseOf(answer.GetReason())
	}
	return condition, err
}
