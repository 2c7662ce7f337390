// SPDX-License-Identifier: Apache-2.0

package mounter

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
)

// DeviceOf returns the volume and the disk that are mounted at a path, or at the end of links, without sizes. No volume
// there is csiproxy.ErrNotMounted; one whose disk is gone or offline is csiproxy.ErrDiskNotFound, with the volume's id
// in the device.
func (m *Mounter) DeviceOf(ctx context.Context, path string) (Device, error) {
	path = windowsPath(path)
	at, err := m.client.Volume.GetVolumeIDFromTargetPath(ctx,
		&csiproxy.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	if failure := (*csiproxy.Error)(nil); errors.As(err, &failure) && failure.Reason == reason.NotMounted {
		plain := *failure // published drivers search the agent's text, which says that the path does not exist
		plain.Message = "neither a volume nor a share is mounted at " + path
		return Device{}, &plain
	}
	if err != nil {
		return Device{}, err
	}
	of, err := m.client.Volume.GetDiskNumberFromVolumeID(ctx,
		&csiproxy.GetDiskNumberFromVolumeIDRequest{VolumeId: at.GetVolumeId()})
	if errors.Is(err, csiproxy.ErrVolumeNotFound) {
		err = fmt.Errorf("%w: %w", csiproxy.ErrDiskNotFound, err)
	}
	return Device{Disk: of.GetDiskNumber(), Volume: at.GetVolumeId()}, err
}

// PathExists reports whether there is anything at a path, without following it: a link or mount point exists even if it
// leads nowhere.
func (m *Mounter) PathExists(ctx context.Context, path string) (bool, error) {
	answer, err := m.client.Filesystem.PathExists(ctx, &csiproxy.PathExistsRequest{Path: windowsPath(path)})
	return answer.GetExists(), err
}

// Mkdir makes a directory and those above it. An existing one is success.
func (m *Mounter) Mkdir(ctx context.Context, path string) error {
	_, err := m.client.Filesystem.Mkdir(ctx, &csiproxy.MkdirRequest{Path: windowsPath(path)})
	return err
}

// RemoveAll removes a directory with its content, a link, or a mount point; the content of a mounted volume stays, and
// its disk stays online: see Unstage. A missing path is success.
func (m *Mounter) RemoveAll(ctx context.Context, path string) error {
	return m.rmdir(ctx, windowsPath(path), true)
}

func (m *Mounter) rmdir(ctx context.Context, path string, force bool) error {
	_, err := m.client.Filesystem.Rmdir(ctx, &csiproxy.RmdirRequest{Path: path, Force: force})
	if errors.Is(err, csiproxy.ErrPathNotFound) {
		return nil
	}
	return err
}

func (m *Mounter) makeParent(ctx context.Context, path string) error {
	parent := path[:max(strings.LastIndexByte(strings.TrimRight(path, `\`), '\\'), 0)]
	if parent == "" || strings.HasSuffix(parent, ":") {
		return nil
	}
	return m.Mkdir(ctx, parent)
}
