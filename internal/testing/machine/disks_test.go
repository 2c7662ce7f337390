// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"
	"strings"
	"testing"

	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
	"github.com/kubernetes-csi/csi-proxy/internal/local"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
)

const mountedAt = node.KubeletDir + `\mounted`

// guardedNode is an agent that may change some disks of an emulated node.
type guardedNode struct {
	t    *testing.T
	node *emulated.Node
	*csiproxy.Client
}

func (n guardedNode) attach(formatted bool) (number uint32) {
	n.t.Helper()
	number, err := n.node.AttachDisk(bundle.Spec{SizeBytes: 1 << 30, LUNAuto: true,
		Formatted: setting.Formatted(formatted)})
	if err != nil {
		n.t.Fatal(err)
	}
	return number
}

func (n guardedNode) digest(number uint32) string {
	n.t.Helper()
	image, err := n.node.DiskImage(number)
	if err != nil {
		n.t.Fatal(err)
	}
	return csiproxytest.Digest(n.t, image)
}

// volume returns the id of the disk's only volume, empty if it has none.
func (n guardedNode) volume(number uint32) string {
	n.t.Helper()
	answer, err := n.Volume.ListVolumesOnDisk(n.t.Context(), &csiproxy.ListVolumesOnDiskRequest{DiskNumber: number})
	if err != nil || len(answer.GetVolumeIds()) == 0 {
		return ""
	}
	return answer.GetVolumeIds()[0]
}

// A call changes a disk or its volume.
type call struct {
	name string
	do   func(ctx context.Context) error
}

// changes are the calls that change a disk, in an order in which all succeed on a disk of one's own.
func (n guardedNode) changes(number uint32) []call {
	return []call{
		{"SetDiskState", func(ctx context.Context) error {
			_, err := n.Disk.SetDiskState(ctx, &csiproxy.SetDiskStateRequest{DiskNumber: number})
			return err
		}},
		{"StageDisk", func(ctx context.Context) error {
			_, err := n.NodeSteps.StageDisk(ctx, &csiproxy.StageDiskRequest{TargetPath: mountedAt + `\step`,
				Disk: &nodesteps.StageDiskRequest_DiskNumber{DiskNumber: number}})
			return err
		}},
		{"PartitionDisk", func(ctx context.Context) error {
			_, err := n.Disk.PartitionDisk(ctx, &csiproxy.PartitionDiskRequest{DiskNumber: number})
			return err
		}},
		{"FormatVolume", func(ctx context.Context) error {
			_, err := n.Volume.FormatVolume(ctx, &csiproxy.FormatVolumeRequest{VolumeId: n.volume(number)})
			return err
		}},
		{"MountVolume", func(ctx context.Context) error {
			_, err := n.Volume.MountVolume(ctx,
				&csiproxy.MountVolumeRequest{VolumeId: n.volume(number), TargetPath: mountedAt + `\call`})
			return err
		}},
		{"ResizeVolume", func(ctx context.Context) error {
			if err := n.node.GrowDisk(number, 2<<30); err != nil {
				return err
			}
			_, err := n.Volume.ResizeVolume(ctx, &csiproxy.ResizeVolumeRequest{VolumeId: n.volume(number)})
			return err
		}},
	}
}

// An agent on a guarded kernel changes the disk that the test attached, and no byte or state of another one.
func TestGuard(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	emulation, err := emulated.Open(dir, emulated.Options{})
	if err != nil {
		t.Fatal(err)
	}
	disks := &machine.Disks{}
	a, err := agent.Start(t.Context(), agent.Config{Kernel: disks.Guard(emulation),
		Transport: transport.Options{SocketDir: dir, PipePrefix: t.Name()}, Node: node.Config{Records: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = a.Stop(context.Background()), emulation.Close() })
	served, err := a.Node()
	if err != nil {
		t.Fatal(err)
	}
	n := guardedNode{t, emulation, csiproxy.Over(local.New(apis.All(served), server.Options{}))}
	raw := n.attach(false)
	disks.Add(raw, machine.Identity{})
	if _, err := n.Disk.PartitionDisk(t.Context(), &csiproxy.PartitionDiskRequest{DiskNumber: raw}); err != nil {
		t.Fatal(err)
	}
	disks.Remove(raw)
	for what, number := range map[string]uint32{"blank": n.attach(false), "raw": raw, "formatted": n.attach(true)} {
		before := n.digest(number)
		for _, change := range n.changes(number) {
			if what == "formatted" && change.name == "FormatVolume" {
				continue // it has nothing to do
			}
			if needsVolume := strings.HasSuffix(change.name, "Volume"); needsVolume && n.volume(number) == "" {
				continue
			}
			err := change.do(t.Context())
			if err == nil || !strings.Contains(err.Error(), "not of a disk that the test attached") {
				t.Errorf("%s, %s: %v", what, change.name, err)
			}
		}
		if n.digest(number) != before {
			t.Errorf("the disk that the test did not attach, %s, has changed", what)
		}
		state, err := n.Disk.GetDiskState(t.Context(), &csiproxy.GetDiskStateRequest{DiskNumber: number})
		if err != nil || !state.GetIsOnline() {
			t.Errorf("the disk that the test did not attach, %s, is offline, or %v", what, err)
		}
	}
	own := n.attach(false)
	disks.Add(own, machine.Identity{SerialNumber: "vol-1", Page83: "Google  pd-1"})
	ids, err := n.Disk.ListDiskIDs(t.Context(), &csiproxy.ListDiskIDsRequest{})
	if id := ids.GetDiskIDs()[own]; err != nil || id.GetSerialNumber() != "vol-1" || id.GetPage83() != "Google  pd-1" {
		t.Errorf("the disk that the test attached says it is %v, %v", id, err)
	}
	for _, change := range n.changes(own) {
		if err := change.do(t.Context()); err != nil {
			t.Errorf("the disk that the test attached: %s: %v", change.name, err)
		}
	}
	disks.Remove(own)
	if err := n.changes(own)[0].do(t.Context()); err == nil {
		t.Error("a disk that was detached can be changed")
	}
}
