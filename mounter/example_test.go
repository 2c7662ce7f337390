// SPDX-License-Identifier: Apache-2.0

package mounter_test

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/mounter"
	"github.com/kubernetes-csi/csi-proxy/mounter/csicode"
)

// Driver is what the node service of a driver for Windows does, for a cloud's disks and for SMB shares.
type Driver struct{ mounter *mounter.Mounter }

func (d *Driver) StageDisk(ctx context.Context, volumeID, staging string, readOnly bool) error {
	_, err := d.mounter.StageDisk(ctx, mounter.ByEBSVolume(volumeID), staging, mounter.StageOptions{ReadOnly: readOnly})
	return err
}

func (d *Driver) StageShare(ctx context.Context, source, staging string, secrets map[string]string) error {
	return d.mounter.StageShare(ctx, source, staging,
		mounter.Credentials{User: secrets["username"], Password: secrets["password"]})
}

func (d *Driver) Publish(ctx context.Context, staging, target string) error {
	return d.mounter.Publish(ctx, staging, target)
}

// Unstage serves NodeUnpublishVolume and NodeUnstageVolume, of disks and shares.
func (d *Driver) Unstage(ctx context.Context, path string) error {
	return d.mounter.Unstage(ctx, path)
}

func (d *Driver) Expand(ctx context.Context, path string, required int64) (capacity int64, err error) {
	size, err := d.mounter.Expand(ctx, path, required)
	return size.Disk, err
}

func (d *Driver) Stats(ctx context.Context, path string) (used, total int64, err error) {
	volume, err := d.mounter.GetVolume(ctx, path)
	if err == nil {
		err = volume.SizeErr
	}
	return volume.Used, volume.Total, err
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

// The server of a driver: the errors of its methods get the codes that CSI wants.
func Example_server() {
	server := grpc.NewServer(grpc.UnaryInterceptor(csicode.Interceptor))
	// csi.RegisterNodeServer(server, …)
	server.Stop()
}
