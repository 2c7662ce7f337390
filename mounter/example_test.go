// SPDX-License-Identifier: Apache-2.0

package mounter_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

// Driver is what the node service of a driver for Windows does, for a cloud's disks and for SMB shares.
type Driver struct{ mounter *mounter.Mounter }

func (d *Driver) StageDisk(ctx context.Context, volumeID, staging string, readOnly bool) error {
	_, err := d.mounter.StageDisk(ctx, mounter.ByEBSVolume(volumeID), staging, mounter.StageOptions{ReadOnly: readOnly})
	return code(err)
}

func (d *Driver) StageShare(ctx context.Context, source, staging string, secrets map[string]string) error {
	return code(d.mounter.StageShare(ctx, source, staging,
		mounter.Credentials{User: secrets["username"], Password: secrets["password"]}))
}

func (d *Driver) Publish(ctx context.Context, staging, target string) error {
	return code(d.mounter.Publish(ctx, staging, target))
}

// Unstage serves NodeUnpublishVolume and NodeUnstageVolume, of disks and shares.
func (d *Driver) Unstage(ctx context.Context, path string) error {
	return code(d.mounter.Unstage(ctx, path))
}

func (d *Driver) Expand(ctx context.Context, path string, required int64) (capacity int64, err error) {
	size, err := d.mounter.Expand(ctx, path, required)
	return size.Disk, code(err)
}

func (d *Driver) Stats(ctx context.Context, path string) (used, total int64, err error) {
	volume, err := d.mounter.GetVolume(ctx, path)
	if err == nil {
		err = volume.SizeErr
	}
	return volume.Used, volume.Total, code(err)
}

// code gives errors the codes that CSI wants. Those of the agent's calls have theirs.
func code(err error) error {
	switch {
	case errors.Is(err, fs.ErrInvalid):
		return status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, csiproxy.ErrDiskNotFound), errors.Is(err, csiproxy.ErrNotMounted):
		return status.Error(codes.NotFound, err.Error())
	case errors.Is(err, csiproxy.ErrAmbiguous), errors.Is(err, csiproxy.ErrNotFormatted):
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	return err
}

// The node service of a driver; CSI's messages are left out.
func Example() {
	d, ctx := &Driver{mounter.New(csiproxy.New(csiproxy.Options{}))}, context.Background()
	staging, target := `\var\lib\kubelet\plugins\kubernetes.io\csi\example.com\1\globalmount`,
		`c:\var\lib\kubelet\pods\1\volumes\kubernetes.io~csi\pv\mount`
	if err := d.StageDisk(ctx, "vol-0123456789abcdef0", staging, false); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Publish(ctx, staging, target))
}
