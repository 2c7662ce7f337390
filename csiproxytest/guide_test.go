// SPDX-License-Identifier: Apache-2.0

package csiproxytest_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	disk "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

// This file is the example driver of docs/emulated-node.md, the guide for driver authors, and its tests.

// nodePlugin is the node service of a driver that finds its disks by their serial numbers.
type nodePlugin struct {
	disk       diskapi.DiskClient
	volume     volumeapi.VolumeClient
	filesystem filesystemapi.FilesystemClient
}

func (p *nodePlugin) findDisk(ctx context.Context, serial string) (uint32, error) {
	ids, err := p.disk.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{})
	if err != nil {
		return 0, err
	}
	for number, id := range ids.GetDiskIDs() {
		if id.GetSerialNumber() == serial {
			return number, nil
		}
	}
	return 0, errors.New("no disk has the serial number " + serial)
}

// Stage mounts the volume, and formats a new one first. It may be called again after any failure.
func (p *nodePlugin) Stage(ctx context.Context, serial, staging string) error {
	number, err := p.findDisk(ctx, serial)
	if err != nil {
		return err
	}
	if _, err := p.disk.PartitionDisk(ctx, &diskapi.PartitionDiskRequest{DiskNumber: number}); err != nil {
		return err
	}
	if _, err := p.disk.SetDiskState(ctx, &diskapi.SetDiskStateRequest{DiskNumber: number, IsOnline: true}); err != nil {
		return err
	}
	volumes, err := p.volume.ListVolumesOnDisk(ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: number})
	if err != nil {
		return err
	}
	id := volumes.GetVolumeIds()[0]
	formatted, err := p.volume.IsVolumeFormatted(ctx, &volumeapi.IsVolumeFormattedRequest{VolumeId: id})
	if err == nil && !formatted.GetFormatted() {
		_, err = p.volume.FormatVolume(ctx, &volumeapi.FormatVolumeRequest{VolumeId: id})
	}
	if err != nil {
		return err
	}
	_, err = p.volume.MountVolume(ctx, &volumeapi.MountVolumeRequest{VolumeId: id, TargetPath: staging})
	return err
}

// Unstage unmounts the volume and removes the staging directory. A volume that is not mounted is success.
func (p *nodePlugin) Unstage(ctx context.Context, staging string) error {
	at, err := p.volume.GetVolumeIDFromTargetPath(ctx, &volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: staging})
	if status.Code(err) == codes.NotFound {
		return nil
	}
	if err == nil {
		_, err = p.volume.UnmountVolume(ctx, &volumeapi.UnmountVolumeRequest{VolumeId: at.GetVolumeId(), TargetPath: staging})
	}
	if err == nil {
		_, err = p.filesystem.Rmdir(ctx, &filesystemapi.RmdirRequest{Path: staging, Force: true})
	}
	return err
}

const (
	volumeDir = `\plugins\kubernetes.io\csi\my.driver\globalmount`
	staging   = `C:\var\lib\kubelet` + volumeDir // of an emulated node
)

// newPlugin returns a plugin with clients of the versions that it is written for.
func newPlugin(t testing.TB, node *csiproxytest.Node) *nodePlugin {
	t.Helper()
	return &nodePlugin{
		disk:       csiproxytest.Client(t, node, disk.NewClientWithPipePath),
		volume:     csiproxytest.Client(t, node, volume.NewClientWithPipePath),
		filesystem: csiproxytest.Client(t, node, filesystem.NewClientWithPipePath),
	}
}

func TestStage(t *testing.T) {
	node := csiproxytest.Start(t, csiproxytest.Options{})
	plugin := newPlugin(t, node)
	node.AttachDisk(csiproxytest.Disk{SizeBytes: 10 << 30, SerialNumber: "vol-1", Offline: true})

	staging := node.KubeletDir() + volumeDir
	if err := plugin.Stage(t.Context(), "vol-1", staging); err != nil {
		t.Fatal(err)
	}
	node.WriteFile(staging+`\data`, "precious")

	if err := plugin.Unstage(t.Context(), staging); err != nil {
		t.Fatal(err)
	}
	if err := plugin.Stage(t.Context(), "vol-1", staging); err != nil {
		t.Fatal(err)
	}
	if got := node.ReadFile(staging + `\data`); got != "precious" {
		t.Errorf("the volume holds %q", got)
	}
}

func TestStageRecovers(t *testing.T) {
	for _, function := range []string{"FormatVolume", "SetVolumeMountPoint"} {
		t.Run(function, func(t *testing.T) {
			node := csiproxytest.Start(t, csiproxytest.Options{})
			plugin := newPlugin(t, node)
			node.AttachDisk(csiproxytest.Disk{SizeBytes: 10 << 30, SerialNumber: "vol-1"})

			// The call takes effect, and the driver is told that it failed.
			node.FailAfter(csiproxytest.Calls{Function: function, Times: 1}, csiproxytest.ERROR_NOT_READY)
			if err := plugin.Stage(t.Context(), "vol-1", staging); err == nil {
				t.Error("the failure was not noticed")
			}
			if err := plugin.Stage(t.Context(), "vol-1", staging); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestFormatsOnce(t *testing.T) {
	node := csiproxytest.Start(t, csiproxytest.Options{})
	plugin := newPlugin(t, node)
	node.AttachDisk(csiproxytest.Disk{SizeBytes: 10 << 30, SerialNumber: "vol-1"})
	staging := node.KubeletDir() + volumeDir
	for range 2 {
		if err := plugin.Stage(t.Context(), "vol-1", staging); err != nil {
			t.Fatal(err)
		}
	}
	formats := 0
	for _, entry := range node.Journal() {
		if strings.HasSuffix(entry.GetApi().GetMethod(), "/FormatVolume") {
			formats++
		}
	}
	if formats != 1 {
		t.Errorf("the volume was formatted %d times", formats)
	}
}

func TestStageCalls(t *testing.T) {
	t.Parallel()
	node := csiproxytest.Start(t, csiproxytest.Options{})
	plugin := newPlugin(t, node)
	node.AttachDisk(csiproxytest.Disk{SizeBytes: 10 << 30, SerialNumber: "vol-1", Offline: true})
	staging := node.KubeletDir() + volumeDir
	if err := plugin.Stage(t.Context(), "vol-1", staging); err != nil {
		t.Fatal(err)
	}
	if err := plugin.Unstage(t.Context(), staging); err != nil {
		t.Fatal(err)
	}
	node.AssertJournal("testdata/stage.want", csiproxytest.JournalPart{})
}

// A format takes seconds on Windows. The test decides when it is over, and meanwhile kubelet calls again.
func TestStageDuringAFormat(t *testing.T) {
	t.Parallel()
	node := csiproxytest.Start(t, csiproxytest.Options{})
	plugin := newPlugin(t, node)
	node.AttachDisk(csiproxytest.Disk{SizeBytes: 10 << 30, SerialNumber: "vol-1"})
	formats, release := node.Hang(csiproxytest.Calls{Function: "FormatVolume"})
	staged := make(chan error, 2)
	for range 2 {
		go func() { staged <- plugin.Stage(t.Context(), "vol-1", staging) }()
	}
	<-formats
	release()
	for range 2 {
		if err := <-staged; err != nil {
			t.Error(err)
		}
	}
	if calls := node.Find(csiproxytest.Query{Function: "FormatVolume"}); len(calls) != 1 {
		t.Errorf("the volume was formatted %d times", len(calls))
	}
}

func TestStageInterrupted(t *testing.T) {
	if os.Getenv("CSI_PROXY_LONG") == "" {
		t.Skip("it takes seconds; CSI_PROXY_LONG=1 runs it")
	}
	t.Parallel()
	var plugin *nodePlugin
	csiproxytest.Interrupt(t, func(t testing.TB) *csiproxytest.Node {
		node := csiproxytest.Start(t, csiproxytest.Options{})
		node.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "vol-1"})
		plugin = newPlugin(t, node)
		return node
	}, func(ctx context.Context, _ *csiproxytest.Node) error { return plugin.Stage(ctx, "vol-1", staging) })
}
