// SPDX-License-Identifier: Apache-2.0

package csiproxytest_test

import (
	"context"
	"testing"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volumev1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	diskgroup "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	volumegroup "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

// mount is the driver's code: it creates a volume on a new disk and mounts it.
func mount(ctx context.Context, disks diskv1.DiskClient, volumes volumev1.VolumeClient,
	disk uint32, target string) error {
	if _, err := disks.PartitionDisk(ctx, &diskv1.PartitionDiskRequest{DiskNumber: disk}); err != nil {
		return err
	}
	list, err := volumes.ListVolumesOnDisk(ctx, &volumev1.ListVolumesOnDiskRequest{DiskNumber: disk})
	if err != nil {
		return err
	}
	id := list.GetVolumeIds()[0]
	if _, err := volumes.FormatVolume(ctx, &volumev1.FormatVolumeRequest{VolumeId: id}); err != nil {
		return err
	}
	_, err = volumes.MountVolume(ctx, &volumev1.MountVolumeRequest{VolumeId: id, TargetPath: target})
	return err
}

// testMount is the driver's test: TestMount in its own repository.
func testMount(t *testing.T) {
	node := csiproxytest.Start(t, csiproxytest.Options{})
	disks := csiproxytest.Client(t, node, diskgroup.NewClientWithPipePath)
	volumes := csiproxytest.Client(t, node, volumegroup.NewClientWithPipePath)
	target := node.KubeletDir() + `\plugins\my.driver\globalmount`
	number := node.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "vol-1"})

	// The first attempt fails halfway, because the node is not ready for a mount.
	node.Fail(csiproxytest.Calls{Function: "SetVolumeMountPoint", Times: 1}, csiproxytest.ERROR_NOT_READY)
	if err := mount(t.Context(), disks, volumes, number, target); err == nil {
		t.Error("got no error")
	}
	if err := mount(t.Context(), disks, volumes, number, target); err != nil {
		t.Fatal(err)
	}

	node.WriteFile(target+`\data`, "kept")
	node.Reboot()
	if got := node.ReadFile(target + `\data`); got != "kept" {
		t.Errorf("got %q after the reboot", got)
	}
}

func Example() {
	_ = testMount // go test runs it as TestMount
}
