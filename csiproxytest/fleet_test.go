// SPDX-License-Identifier: Apache-2.0

package csiproxytest_test

import (
	"testing"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	fsv2 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volumev2 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

const podDir = csiproxytest.KubeletDir + `\plugins\volume`

// stage gives a disk a formatted volume, unless it has one, and mounts it, through the clients of a driver. It returns
// the volume's id.
func stage(t testing.TB, n *csiproxytest.Node, number uint32) string {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := n.Disk.SetDiskState(t.Context(), &diskv1.SetDiskStateRequest{DiskNumber: number, IsOnline: true})
	check(err)
	_, err = n.Disk.PartitionDisk(t.Context(), &diskv1.PartitionDiskRequest{DiskNumber: number})
	check(err)
	list, err := n.Volume.ListVolumesOnDisk(t.Context(), &volumev2.ListVolumesOnDiskRequest{DiskNumber: number})
	check(err)
	id := list.GetVolumeIds()[0]
	formatted, err := n.Volume.IsVolumeFormatted(t.Context(), &volumev2.IsVolumeFormattedRequest{VolumeId: id})
	check(err)
	if !formatted.GetFormatted() {
		_, err = n.Volume.FormatVolume(t.Context(), &volumev2.FormatVolumeRequest{VolumeId: id})
		check(err)
	}
	_, err = n.Filesystem.Mkdir(t.Context(), &fsv2.MkdirRequest{Path: podDir})
	check(err)
	_, err = n.Volume.MountVolume(t.Context(), &volumev2.MountVolumeRequest{VolumeId: id, TargetPath: podDir})
	check(err)
	return id
}

// unstage is the opposite, with the disk offline in the end.
func unstage(t testing.TB, n *csiproxytest.Node, number uint32, id string) {
	t.Helper()
	_, err := n.Volume.UnmountVolume(t.Context(), &volumev2.UnmountVolumeRequest{VolumeId: id, TargetPath: podDir})
	if err == nil {
		_, err = n.Filesystem.Rmdir(t.Context(), &fsv2.RmdirRequest{Path: podDir})
	}
	if err == nil {
		_, err = n.Disk.SetDiskState(t.Context(), &diskv1.SetDiskStateRequest{DiskNumber: number})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A pod's volume follows it from node to node, with its files and its id; the cloud attaches it to one of them at a
// time.
func TestVolumeMovesThroughAFleet(t *testing.T) {
	f := csiproxytest.StartFleet(t, 3, csiproxytest.Options{})
	serials := map[string]bool{}
	disk := csiproxytest.Disk{BundlePath: f.Disk("vol-1"), SizeBytes: 1 << 30, SerialNumber: "vol-1", Offline: true}
	var first string
	for i, n := range append(f.Nodes, f.Nodes[0]) { // and back again
		serials[serial(t, n)] = true
		number := n.AttachDisk(disk)
		if got := n.Tree().GetDisks()[number].GetSerialNumber(); got != "vol-1" {
			t.Errorf("it arrives with the serial number %q", got)
		}
		id := stage(t, n, number)
		if i == 0 {
			first = id
			n.WriteFile(podDir+`\data`, "of the pod")
		}
		if got := n.ReadFile(podDir + `\data`); got != "of the pod" || id != first {
			t.Errorf("node %d: volume %s, want %s; its file has %q", i, id, first, got)
		}
		unstage(t, n, number, id)
		n.DetachDisk(number)
	}
	if len(serials) != 3 {
		t.Errorf("the systems' serial numbers: %v", serials)
	}
}

// A node goes back to what it was; a clone goes its own way.
func TestSnapshots(t *testing.T) {
	n := csiproxytest.Start(t, csiproxytest.Options{Scenario: small})
	id := stage(t, n, 1)
	n.WriteFile(podDir+`\data`, "before")
	snapshot := n.Save()
	n.WriteFile(podDir+`\data`, "after")
	unstage(t, n, 1, id)
	clone := n.Clone(t, csiproxytest.Options{})
	clone.SetDiskOnline(1, true)
	if again := stage(t, clone, 1); again != id || clone.ReadFile(podDir+`\data`) != "after" {
		t.Errorf("the clone has the volume %s with %q", again, clone.ReadFile(podDir+`\data`))
	}
	clone.WriteFile(podDir+`\data`, "of the clone")
	n.Restore(snapshot)
	if got := n.ReadFile(podDir + `\data`); got != "before" { // it is mounted
		t.Errorf("the file has %q", got)
	}
	if serial(t, n) == serial(t, clone) {
		t.Error("two machines have one serial number")
	}
	n.DetachDisk(1)
	n.Restore(snapshot)
	if got := n.ReadFile(podDir + `\data`); got != "before" {
		t.Errorf("restored again, the file has %q", got)
	}
}

func serial(t testing.TB, n *csiproxytest.Node) string {
	t.Helper()
	r, err := n.System.GetBIOSSerialNumber(t.Context(), &systemapi.GetBIOSSerialNumberRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return r.GetSerialNumber()
}
