// SPDX-License-Identifier: Apache-2.0

package csiproxytest_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

// The tests of this file pass on an emulated node and on a real one.

// A disk is found by what the test chose, grows in use, and has its files when it is pulled and comes back.
func TestLifeOfADisk(t *testing.T) {
	node := csiproxytest.Start(t, csiproxytest.Options{})
	plugin, at := newPlugin(t, node), node.KubeletDir()+volumeDir
	number := node.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "vol-1", Page83: "Google  pd-1",
		ReadOnly: true, Offline: true})
	on := by(t, node)
	ids, err := on.ListDiskIDs()
	if id := ids[number]; err != nil || id.GetPage83() != "Google  pd-1" {
		t.Errorf("disk %d is %v, %v", number, id, err)
	}
	state := func(want bool) {
		t.Helper()
		if now, err := on.GetDiskState(number); err != nil || now != want {
			t.Errorf("online: %t, %v, want %t", now, err, want)
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
	if err := on.CreateSymlink(at, link); err != nil {
		t.Fatal(err)
	}
	if links := node.Links(node.KubeletDir()); !slices.Equal(links, []csiproxytest.Link{{Path: link, Target: at}}) {
		t.Errorf("the links are %v", links)
	}

	node.GrowDisk(number, 2<<30)
	err = on.ResizeVolume(volume, 0)
	total, _, failed := on.GetVolumeStats(volume)
	if err != nil || failed != nil || total < 2<<30-64<<20 {
		t.Errorf("the volume has %d bytes, %v, %v", total, err, failed)
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
	on := by(t, node)
	volumes, err := on.ListVolumesOnDisk(number)
	if err != nil || len(volumes) != 1 {
		t.Fatal(volumes, err)
	}
	if formatted, err := on.IsVolumeFormatted(volumes[0]); err != nil || !formatted {
		t.Error(formatted, err)
	}
}

// A share is mapped with the account of its server, and with no other password.
func TestLifeOfAShare(t *testing.T) {
	node := csiproxytest.Start(t, csiproxytest.Options{})
	server := node.FileServer()
	node.AddSMBShare(server.Name, "vol-2")
	remote := `\\` + server.Name + `\vol-2`
	on := by(t, node)
	if err := on.NewSmbGlobalMapping(remote, "", server.User, "another one"); err == nil {
		t.Error("the share is mapped with another password")
	}
	if err := on.NewSmbGlobalMapping(remote, "", server.User, server.Password); err != nil {
		t.Fatal(err)
	}
	mapped := func() bool {
		return slices.ContainsFunc(node.Mappings(),
			func(m csiproxytest.Mapping) bool { return strings.EqualFold(m.Share, remote) })
	}
	if !mapped() {
		t.Errorf("the mappings are %v", node.Mappings())
	}
	if err := on.RemoveSmbGlobalMapping(remote); err != nil {
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
	on := by(t, node)
	ids, err := on.ListDiskIDs()
	if err != nil {
		t.Fatal(err)
	}
	for number := range ids {
		if err := on.PartitionDisk(number); (err == nil) != (number == own) {
			t.Errorf("disk %d, where the test attached %d: %v", number, own, err)
		}
		if err := on.SetDiskState(number, false); (err == nil) != (number == own) {
			t.Errorf("disk %d, where the test attached %d, offline: %v", number, own, err)
		}
	}
}
