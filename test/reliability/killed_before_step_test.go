// SPDX-License-Identifier: Apache-2.0

//go:build unix

package reliability

import (
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// TestAgentKilledBeforeTheFirstStep: a group that was not called yet is waited for when the agent dies, as others are.
// An error says whether the agent is gone or only the group's pipe, and which pipe, and is of one kind.
func TestAgentKilledBeforeTheFirstStep(t *testing.T) {
	k := killed{dir: testnode.ShortDir(t)}
	client := func(o csiproxy.Options) *csiproxy.Client {
		o.SocketDir = k.sockets()
		c := csiproxy.New(o)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	known := func(restart time.Duration) *csiproxy.Client {
		c := client(csiproxy.Options{Restart: restart})
		if _, err := c.Disk.ListDiskIDs(t.Context(), &disk.ListDiskIDsRequest{}); err != nil {
			t.Fatal(err)
		}
		return c
	}
	stage := func(c *csiproxy.Client) error {
		_, err := c.NodeSteps.StageDisk(t.Context(), &nodesteps.StageDiskRequest{TargetPath: `C:\var\lib\kubelet\x`,
			Disk: &nodesteps.StageDiskRequest_DiskNumber{DiskNumber: 77}})
		return err
	}
	wants := func(what string, err, kind error, code codes.Code, text string) {
		t.Helper()
		if errors.Is(err, csiproxy.ErrNoAgent) && errors.Is(err, csiproxy.ErrUnsupported) || !errors.Is(err, kind) ||
			status.Code(err) != code || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v (%v), want only %v (%v) with %q", what, err, status.Code(err), kind, code, text)
		}
	}

	agent := k.launch(t)
	impatient, patient := known(time.Second), known(0)
	agent.Kill()
	wants("killed", stage(impatient), csiproxy.ErrNoAgent, codes.Unavailable,
		`nothing listens at \\.\pipe\csi-proxy-nodesteps-v1alpha1 (unix socket `)
	wants("a first call", stage(client(csiproxy.Options{})), csiproxy.ErrNoAgent, codes.Unavailable, "nothing listens")
	waiting := make(chan error, 1)
	go func() { waiting <- stage(patient) }()
	agent = k.launch(t)
	wants("started again", <-waiting, csiproxy.ErrDiskNotFound, codes.NotFound, "77")

	partial := client(csiproxy.Options{PipePath: func(group string, v apiversion.Version) string {
		if group == "volume" {
			group = "elsewhere"
		}
		return `\\.\pipe\csi-proxy-` + group + "-" + v.String()
	}})
	_, err := partial.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{})
	wants("a pod without a pipe", err, csiproxy.ErrNoAgent, codes.Unavailable,
		`the pipe \\.\pipe\csi-proxy-elsewhere-v2alpha1 is not in this pod`)
	agent.Kill()

	testnode.LaunchEmulated(t, "-state-dir="+k.dir, "-socket-dir="+k.sockets(), "-api=nodesteps=off")
	wants("off", stage(known(0)), csiproxy.ErrUnsupported, codes.Unimplemented, "-nodesteps-v1alpha1")
}
