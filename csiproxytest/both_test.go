// SPDX-License-Identifier: Apache-2.0

package csiproxytest_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

// The tests of this file pass on an emulated node and on a real one.

// A disk is found by what the test chose, grows in use, and has its files when it is pulled and comes back.
func TestLifeOfADisk(t *testing.T) {
	node := csiproxytest.Start(t, csiproxytest.Options{})
	plugin, at := newPlugin(t, node), node.KubeletDir()+volumeDir
	number := node.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "vol-1", Page83: "Google  pd-1",
		ReadOnly: true, Offline: true})
	ids, err := node.Disk.ListDiskIDs(t.Context(), &diskapi.ListDiskIDsRequest{})
	if id := ids.GetDiskIDs()[number]; err != nil || id.GetPage83() != "Google  pd-1" {
		t.Errorf("disk %d is %v, %v", number, id, err)
	}
	state := func(want bool) {
		t.Helper()
		now, err := node.Disk.GetDiskState(t.Context(), &diskapi.GetDiskStateRequest{DiskNumber: number})
		if err != nil || now.GetIsOnline() != want {
			t.Errorf("online: %v, %v, want %t", now, err, want)
		}
	}
	state(false)
	stage := func() string {
		t.Helper()
		if err := plugin.Stage(t.Context(), "vol-1", at); err != nil {
			t.Fatal(err)
		}
		mounts := node.Mounts()
		i := slices.IndexFunc(mounts, func(m csiproxytest.Mount) bool { return strings.EqualFold(m.Path, at) })
		if i < 0 {
			t.Fatalf("%v lacks %s", mounts, at)
		}
		return mounts[i].Volume
	}
	volume := stage()
	state(true)
	node.WriteFile(at+`\data`, "precious")
	link := node.KubeletDir() + `\link`
	if _, err := node.Filesystem.CreateSymlink(t.Context(),
		&filesystemapi.CreateSymlinkRequest{SourcePath: at, TargetPath: link}); err != nil {
		t.Fatal(err)
	}
	if links := node.Links(node.KubeletDir()); !slices.Equal(links, []csiproxytest.Link{{Path: link, Target: at}}) {
		t.Errorf("the links are %v", links)
	}

	node.GrowDisk(number, 2<<30)
	_, err = node.Volume.ResizeVolume(t.Context(), &volumeapi.ResizeVolumeRequest{VolumeId: volume})
	stats, failed := node.Volume.GetVolumeStats(t.Context(), &volumeapi.GetVolumeStatsRequest{VolumeId: volume})
	if err != nil || failed != nil || stats.GetTotalBytes() < 2<<30-64<<20 {
		t.Errorf("the volume has %v, %v, %v", stats, err, failed)
	}
	if err := plugin.Unstage(t.Context(), at); err != nil {
		t.Fatal(err)
	}

	image := node.DetachDisk(number)
	if err := plugin.Stage(t.Context(), "vol-1", at); err == nil {
		t.Error("a pulled disk was staged")
	}
	number = node.AttachDisk(csiproxytest.Disk{ImagePath: image})
	stage()
	if got := node.ReadFile(at + `\data`); got != "precious" {
		t.Errorf("the volume holds %q", got)
	}
}

// A disk that has been in use is mounted as it is.
func TestFormattedDisk(t *testing.T) {
	node := csiproxytest.Start(t, csiproxytest.Options{})
	number := node.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, Formatted: true})
	volumes, err := node.Volume.ListVolumesOnDisk(t.Context(), &volumeapi.ListVolumesOnDiskRequest{DiskNumber: number})
	if err != nil || len(volumes.GetVolumeIds()) != 1 {
		t.Fatal(volumes, err)
	}
	formatted, err := node.Volume.IsVolumeFormatted(t.Context(),
		&volumeapi.IsVolumeFormattedRequest{VolumeId: volumes.GetVolumeIds()[0]})
	if err != nil || !formatted.GetFormatted() {
		t.Error(formatted, err)
	}
}

// A share is mapped with the account of its server, and with no other password.
func TestLifeOfAShare(t *testing.T) {
	node := csiproxytest.Start(t, csiproxytest.Options{})
	server := node.FileServer()
	node.AddSMBShare(server.Name, "vol-2")
	remote := `\\` + server.Name + `\vol-2`
	request := &smbapi.NewSmbGlobalMappingRequest{RemotePath: remote, Username: server.User, Password: "another one"}
	if _, err := node.SMB.NewSmbGlobalMapping(t.Context(), request); err == nil {
		t.Error("the share is mapped with another password")
	}
	request.Password = server.Password
	if _, err := node.SMB.NewSmbGlobalMapping(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	mapped := func() bool {
		return slices.ContainsFunc(node.Mappings(),
			func(m csiproxytest.Mapping) bool { return strings.EqualFold(m.Share, remote) })
	}
	if !mapped() {
		t.Errorf("the mappings are %v", node.Mappings())
	}
	if _, err := node.SMB.RemoveSmbGlobalMapping(t.Context(),
		&smbapi.RemoveSmbGlobalMappingRequest{RemotePath: remote}); err != nil {
		t.Error(err)
	}
	node.WaitFor(func() bool { return !mapped() })
	node.RemoveSMBShare(server.Name, "vol-2")
}

// The agent in this process changes no disk of the machine that the test did not attach.
func TestOtherDisks(t *testing.T) {
	if os.Getenv("CSI_PROXY_TEST_NODE") != "windows" {
		t.Skip("require CSI_PROXY_TEST_NODE=windows: an emulated node's disks are all the test's")
	}
	node := csiproxytest.Start(t, csiproxytest.Options{})
	own := node.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30})
	ids, err := node.Disk.ListDiskIDs(t.Context(), &diskapi.ListDiskIDsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for number := range ids.GetDiskIDs() {
		_, err := node.Disk.PartitionDisk(t.Context(), &diskapi.PartitionDiskRequest{DiskNumber: number})
		if (err == nil) != (number == own) {
			t.Errorf("disk %d, where the test attached %d: %v", number, own, err)
		}
		_, err = node.Disk.SetDiskState(t.Context(), &diskapi.SetDiskStateRequest{DiskNumber: number})
		if (err == nil) != (number == own) {
			t.Errorf("disk %d, where the test attached %d, offline: %v", number, own, err)
		}
	}
}
