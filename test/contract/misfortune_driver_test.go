// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	disk "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

const (
	gib       = 1 << 30
	serial    = "vol-1"
	stagePath = csiproxytest.KubeletDir + `\plugins\kubernetes.io\csi\some.driver\globalmount`
)

// stager is the part of a CSI driver that stages and expands the volumes of disks, which it knows by their serial
// numbers.
type stager struct {
	disks   diskapi.DiskClient
	volumes volumeapi.VolumeClient
}

// startStager starts a node with the driver and its volume's disk, whose number it returns.
func startStager(t *testing.T) (*csiproxytest.Node, *stager, uint32) {
	t.Helper()
	node := csiproxytest.Start(t, csiproxytest.Options{})
	return node, newStager(t, node), node.AttachDisk(csiproxytest.Disk{SizeBytes: gib, SerialNumber: serial})
}

// newStager starts the driver, which connects to the agent.
func newStager(t *testing.T, node *csiproxytest.Node) *stager {
	t.Helper()
	return &stager{csiproxytest.Client(t, node, disk.NewClientWithPipePath),
		csiproxytest.Client(t, node, volume.NewClientWithPipePath)}
}

func (d *stager) find(ctx context.Context) (uint32, error) {
	ids, err := d.disks.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{})
	if err != nil {
		return 0, err
	}
	for number, id := range ids.GetDiskIDs() {
		if id.GetSerialNumber() == serial {
			return number, nil
		}
	}
	return 0, status.Errorf(codes.NotFound, "disk %s is not attached", serial)
}

// volume returns the disk's volume.
func (d *stager) volume(ctx context.Context, number uint32) (string, error) {
	list, err := d.volumes.ListVolumesOnDisk(ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: number})
	if err != nil {
		return "", err
	}
	if n := len(list.GetVolumeIds()); n != 1 {
		return "", fmt.Errorf("the disk has %d volumes", n)
	}
	return list.GetVolumeIds()[0], nil
}

// stage is NodeStageVolume: it may be called again after it failed at any point.
func (d *stager) stage(ctx context.Context) error {
	number, err := d.find(ctx)
	if err != nil {
		return err
	}
	if _, err := d.disks.PartitionDisk(ctx, &diskapi.PartitionDiskRequest{DiskNumber: number}); err != nil {
		return err
	}
	id, err := d.volume(ctx, number)
	if err != nil {
		return err
	}
	formatted, err := d.volumes.IsVolumeFormatted(ctx, &volumeapi.IsVolumeFormattedRequest{VolumeId: id})
	if err != nil {
		return err
	}
	if !formatted.GetFormatted() {
		if _, err := d.volumes.FormatVolume(ctx, &volumeapi.FormatVolumeRequest{VolumeId: id}); err != nil {
			return err
		}
	}
	_, err = d.volumes.MountVolume(ctx, &volumeapi.MountVolumeRequest{VolumeId: id, TargetPath: stagePath})
	return err
}

// expand is NodeExpandVolume. It returns the size of the file system.
func (d *stager) expand(ctx context.Context) (int64, error) {
	id, err := d.volumes.GetVolumeIDFromTargetPath(ctx, &volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: stagePath})
	if err != nil {
		return 0, err
	}
	if _, err := d.volumes.ResizeVolume(ctx, &volumeapi.ResizeVolumeRequest{VolumeId: id.GetVolumeId()}); err != nil {
		return 0, err
	}
	stats, err := d.volumes.GetVolumeStats(ctx, &volumeapi.GetVolumeStatsRequest{VolumeId: id.GetVolumeId()})
	return stats.GetTotalBytes(), err
}

// background runs a call of the driver, as kubelet does while it does other things.
func background(call func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	return done
}

// await waits until a call of the driver has reached the point at which it hangs.
func await(t *testing.T, reached <-chan struct{}, call <-chan error) {
	t.Helper()
	select {
	case <-reached:
	case err := <-call:
		t.Fatalf("the call ended before it hung: %v", err)
	}
}

// wantStaged stages the volume and checks that it is mounted, and its content, if it had any before.
func wantStaged(t *testing.T, n *csiproxytest.Node, d *stager, content string) {
	t.Helper()
	if err := d.stage(t.Context()); err != nil {
		t.Fatalf("the next try: %v", err)
	}
	if content == "" {
		n.WriteFile(stagePath+`\data`, "new")
		return
	}
	if got := n.ReadFile(stagePath + `\data`); got != content {
		t.Errorf("the volume holds %q, want %q", got, content)
	}
}

func wantOutcome(t *testing.T, what string, err error, want codes.Code) {
	t.Helper()
	if status.Code(err) != want {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}
