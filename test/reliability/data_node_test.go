// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

const (
	parent      = `C:\var\lib\kubelet\plugins\csi`
	dataStaging = parent + `\staging`
	precious    = "precious"
)

// dataDiskBytes is the size of the disks that are attached.
const dataDiskBytes = 64 << 20

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, what string, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("%s: %v, want %v (%v)", what, got, want, err)
	}
}

func attachDisk(t *testing.T, n *testnode.Node, spec emulated.DiskSpec) uint32 {
	t.Helper()
	if spec.ImagePath == "" {
		spec.SizeBytes = dataDiskBytes
	}
	spec.LUNAuto = true
	number, err := n.Emulated.AttachDisk(spec)
	noError(t, err)
	return number
}

func partitionDisk(t *testing.T, n *testnode.Node, number uint32) error {
	t.Helper()
	_, err := n.Disk.PartitionDisk(t.Context(), &diskapi.PartitionDiskRequest{DiskNumber: number})
	return err
}

func volumes(t *testing.T, n *testnode.Node, number uint32) []string {
	t.Helper()
	reply, err := n.Volume.ListVolumesOnDisk(t.Context(), &volumeapi.ListVolumesOnDiskRequest{DiskNumber: number})
	noError(t, err)
	return reply.GetVolumeIds()
}

func formatVolume(t *testing.T, n *testnode.Node, id string) error {
	t.Helper()
	_, err := n.Volume.FormatVolume(t.Context(), &volumeapi.FormatVolumeRequest{VolumeId: id})
	return err
}

func mount(t *testing.T, n *testnode.Node, id, path string) error {
	t.Helper()
	_, err := n.Volume.MountVolume(t.Context(), &volumeapi.MountVolumeRequest{VolumeId: id, TargetPath: path})
	return err
}

func unmountVolume(t *testing.T, n *testnode.Node, id, path string) error {
	t.Helper()
	_, err := n.Volume.UnmountVolume(t.Context(), &volumeapi.UnmountVolumeRequest{VolumeId: id, TargetPath: path})
	return err
}

func resizeVolume(t *testing.T, n *testnode.Node, id string, size int64) error {
	t.Helper()
	_, err := n.Volume.ResizeVolume(t.Context(), &volumeapi.ResizeVolumeRequest{VolumeId: id, SizeBytes: size})
	return err
}

func removeDirectory(t *testing.T, n *testnode.Node, path string) error {
	t.Helper()
	_, err := n.Filesystem.Rmdir(t.Context(), &filesystemapi.RmdirRequest{Path: path, Force: true})
	return err
}

// dataInUse gives a disk that was formatted elsewhere a mount point and a file there, and returns its volume.
func dataInUse(t *testing.T, n *testnode.Node, path string) (number uint32, id string) {
	t.Helper()
	number = attachDisk(t, n, emulated.DiskSpec{Formatted: true})
	id = volumes(t, n, number)[0]
	noError(t, mount(t, n, id, path))
	n.WriteFile(path+`\data`, precious)
	return number, id
}

// wantData looks for the file that dataInUse wrote on a volume, wherever the volume is mounted, if at all.
func wantData(t *testing.T, n *testnode.Node, what, id string) {
	t.Helper()
	const elsewhere = `C:\var\lib\kubelet\pods\elsewhere`
	noError(t, mount(t, n, id, elsewhere))
	if got := n.ReadFile(elsewhere + `\data`); got != precious {
		t.Errorf("%s: the volume's file reads %q, want %q", what, got, precious)
	}
	noError(t, removeDirectory(t, n, elsewhere))
}
