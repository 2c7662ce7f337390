// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/csisanity"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/mounter"
	"github.com/kubernetes-csi/csi-proxy/mounter/csicode"
)

// carelessVariable makes TestCareless run csi-sanity, which fails.
const carelessVariable = "CSI_DRIVER_CARELESS"

// careless is a plugin that leaves a directory beside the first volume that it publishes, and gives an error a wrong
// code. Like the driver of EBS, it stages nothing without a device path, and has no volume at a path that the agent
// refuses, but an error of its own.
type careless struct {
	*driver

	left bool
}

func (c *careless) NodeStageVolume(ctx context.Context,
	r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	if r.GetVolumeCapability() != nil && r.GetPublishContext()["devicePath"] == "" {
		return nil, status.Error(codes.InvalidArgument, "no device path")
	}
	return c.driver.NodeStageVolume(ctx, r)
}

func (c *careless) NodePublishVolume(ctx context.Context,
	r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	answer, err := c.driver.NodePublishVolume(ctx, r)
	if err == nil && !c.left {
		c.left = true
		err = c.mounter.Mkdir(ctx, r.GetTargetPath()+"-left")
	}
	return answer, err
}

func (c *careless) NodeGetVolumeStats(ctx context.Context,
	r *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse, error) {
	answer, err := c.driver.NodeGetVolumeStats(ctx, r)
	if r.GetVolumeId() == "" {
		err = status.Error(codes.DataLoss, "the plugin cannot say")
	}
	return answer, cmp.Or(c.refused(ctx, r.GetVolumePath()), err)
}

func (c *careless) NodeExpandVolume(ctx context.Context,
	r *csi.NodeExpandVolumeRequest) (*csi.NodeExpandVolumeResponse, error) {
	answer, err := c.driver.NodeExpandVolume(ctx, r)
	return answer, cmp.Or(c.refused(ctx, r.GetVolumePath()), err)
}

func (c *careless) refused(ctx context.Context, path string) error {
	if _, err := c.mounter.PathExists(ctx, path); err != nil && path != "" {
		return status.Error(codes.Internal, err.Error())
	}
	return nil
}

// TestCareless: what a spec leaves fails that spec alone, and a failure is a line with code and message.
func TestCareless(t *testing.T) {
	if testnode.OnWine() {
		t.Skip("the specs take minutes on Wine")
	}
	if os.Getenv(carelessVariable) != "" {
		if err := flag.Set("ginkgo.focus", "Node Service"); err != nil {
			t.Fatal(err)
		}
		node := csiproxytest.Start(t, csiproxytest.Options{})
		plugin := &careless{driver: newDriver(mounter.New(node.Client()), "node-1")}
		register := func(s *grpc.Server) {
			csi.RegisterIdentityServer(s, plugin)
			csi.RegisterNodeServer(s, plugin)
		}
		csisanity.Run(t, csisanity.Suite{Name: "disks", Node: node, Volumes: csisanity.Disks(),
			Plugin: csisanity.Serve(t, register, grpc.UnaryInterceptor(csicode.Interceptor))})
		return
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCareless$")
	command.Env = append(os.Environ(), carelessVariable+"=1")
	output, err := command.CombinedOutput()
	if err == nil {
		t.Error("the run has not failed")
	}
	var failures []string
	for text := range strings.Lines(string(output)) {
		if _, failure, is := strings.Cut(text, ": failed: "); is {
			failures = append(failures, strings.TrimSpace(failure))
		}
	}
	want := []string{
		`disks Node Service NodeUnpublishVolume should remove target path: the plugin left something at ` +
			`C:\var\lib\kubelet\pods\csisanity\volumes\kubernetes.io~csi\pv: `,
		"disks Node Service NodeGetVolumeStats should fail when no volume id is provided: unexpected error: " +
			"rpc error: code = DataLoss desc = the plugin cannot say; expected DataLoss to equal InvalidArgument",
	}
	if len(failures) != len(want) {
		t.Fatalf("%d specs failed, want %d:\n%s", len(failures), len(want), output)
	}
	for i, part := range want {
		if !strings.HasPrefix(failures[i], part) {
			t.Errorf("%s\nwant %s", failures[i], part)
		}
	}
}
