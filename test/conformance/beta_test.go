// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	stdcontext "context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/dial"
	diskv1 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
	volumev1 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/emulation"
)

// The paths of the beta lives, as kubelet gives them.
const (
	betaStaging = `\var\lib\kubelet\plugins\kubernetes.io\csi\driver\1\globalmount`
	betaPublish = `c:\var\lib\kubelet\pods\1\volumes\mount`
)

// betaNode is a node whose agent serves no v1, so that a driver falls back for as long as it lives.
type betaNode struct {
	*emulated.Node
	t testing.TB
}

// startBeta starts an agent that serves only the selected versions, where drivers look for it.
func startBeta(t *testing.T, selected ...string) *betaNode {
	t.Helper()
	dir, err := os.MkdirTemp("", "csi") //nolint:usetesting // sockets need a short path
	noError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	apis := &apis.Selection{}
	for _, s := range selected {
		noError(t, apis.Set(s))
	}
	a, err := emulation.Start(t.Context(), emulation.Config{StateDir: dir, Node: emulated.Options{},
		Config: agent.Config{APIs: apis}})
	noError(t, err)
	t.Cleanup(func() {
		ctx, cancel := stdcontext.WithTimeout(stdcontext.Background(), time.Minute)
		defer cancel()
		if err := a.Stop(ctx); err != nil {
			t.Errorf("stopping the agent: %v", err)
		}
	})
	t.Setenv(dial.SocketDirVariable, a.SocketDir())
	return &betaNode{a.Harness.Node, t}
}

// fallback asserts that the driver's first choice fails, client by client.
func fallback(t *testing.T) {
	t.Helper()
	absent(t, filesystemv1.NewClient)
	absent(t, diskv1.NewClient)
	absent(t, volumev1.NewClient)
}

func absent[C closer](t *testing.T, newClient func() (C, error)) {
	t.Helper()
	c, err := newClient()
	if err == nil {
		_ = c.Close()
		t.Fatalf("%T is served", c)
	}
}

func present[C closer](t *testing.T, newClient func() (C, error)) C {
	t.Helper()
	c, err := newClient()
	noError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// makeParent makes the directory that a publish path lies in, as kubelet or the driver's container does.
func (n *betaNode) makeParent() {
	n.t.Helper()
	host, err := n.HostPath(pods)
	noError(n.t, err)
	noError(n.t, os.MkdirAll(filepath.Join(host, "1", "volumes"), 0o755))
}

// write writes a file below a path of the node.
func (n *betaNode) write(path, content string) {
	n.t.Helper()
	host, err := n.HostPath(withDrive(path))
	noError(n.t, err)
	noError(n.t, os.WriteFile(host, []byte(content), 0o600))
}

// holds asserts a file's content.
func (n *betaNode) holds(path, want string) {
	n.t.Helper()
	host, err := n.HostPath(withDrive(path))
	noError(n.t, err)
	got, err := os.ReadFile(host)
	noError(n.t, err)
	same(n.t, string(got), want)
}

// betaDriver is a driver's life on a node, without the volume's limits.
type betaDriver interface {
	stage(staging string) error
	publish(staging, publish string) error
	stats(publish string) (total, used int64, err error)
	expand(publish string) error
	unpublish(publish string) error
	unstage(staging string) error
}

// live takes a volume on disk 2 through a driver's life, each step twice, as kubelet does when an answer is lost.
func live(n *betaNode, d betaDriver) {
	t := n.t
	t.Helper()
	step := func(name string, do func() error) {
		t.Helper()
		for range 2 {
			if err := do(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	total := func(least int64) {
		t.Helper()
		const overhead = 64 << 20
		got, used, err := d.stats(betaPublish)
		noError(t, err)
		if got < least-overhead || got > least || used <= 0 || used > got {
			t.Errorf("%d bytes of %d are used on a disk of %d", used, got, least)
		}
	}
	step("stage", func() error { return d.stage(betaStaging) })
	n.makeParent()
	step("publish", func() error { return d.publish(betaStaging, betaPublish) })
	n.write(betaPublish+`\data`, "precious")
	total(20 * gib)
	noError(t, n.GrowDisk(2, 30*gib))
	step("expand", func() error { return d.expand(betaPublish) })
	total(30 * gib)
	step("unpublish", func() error { return d.unpublish(betaPublish) })
	noError(t, d.unstage(betaStaging))
	noError(t, d.stage(betaStaging))
	n.holds(betaStaging+`\data`, "precious")
	step("publish again", func() error { return d.publish(betaStaging, betaPublish) })
	n.holds(betaPublish+`\data`, "precious")
	noError(t, d.unpublish(betaPublish))
	noError(t, d.unstage(betaStaging))
}
