// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/emulation"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// agentHome is where an emulated node lives and its agent listens, while agents come and go.
type agentHome struct {
	t     testing.TB
	dir   string
	pipes string // the prefix of the pipes, on Windows
}

// newAgentHome returns one with a path that is short enough for sockets.
func newAgentHome(t testing.TB) agentHome {
	t.Helper()
	if testnode.OnWine() {
		t.Skip("require Windows or another system: this test proves nothing under Wine")
	}
	return agentHome{t: t, dir: testnode.ShortDir(t), pipes: "negotiation-" + rand.Text() + "-"}
}

// start starts an agent that serves what the values of -api leave, and everything when there are none. The returned
// function stops it; it is stopped with the test too.
func (p agentHome) start(selected ...string) (stop func()) {
	p.t.Helper()
	var selection apis.Selection
	for _, value := range selected {
		caller.OK(p.t, selection.Set(value))
	}
	a, err := emulation.Start(p.t.Context(), emulation.Config{
		StateDir: p.dir, Node: emulated.Options{},
		Config: agent.Config{APIs: &selection, Node: node.Config{RequirePrivacy: true},
			Transport: transport.Options{PipePrefix: p.pipes}},
	})
	if err != nil {
		p.t.Fatalf("starting the agent: %v", err)
	}
	stop = func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := a.Stop(ctx); err != nil {
			p.t.Errorf("stopping the agent: %v", err)
		}
	}
	p.t.Cleanup(stop)
	return stop
}

// path returns the endpoint's address, which is known before the first agent is there.
func (p agentHome) path(endpoint string) string {
	if runtime.GOOS == "windows" {
		return `\\.\pipe\` + p.pipes + endpoint
	}
	return filepath.Join(p.dir, "run", endpoint+".sock")
}

// client returns a client of whatever agent is there.
func (p agentHome) client(o csiproxy.Options) *csiproxy.Client {
	p.t.Helper()
	o.PipePath = func(group string, version apiversion.Version) string {
		return p.path("csi-proxy-" + group + "-" + version.String())
	}
	c := csiproxy.New(o)
	p.t.Cleanup(func() { _ = c.Close() })
	return c
}
