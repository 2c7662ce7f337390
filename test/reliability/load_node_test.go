// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"context"
	crand "crypto/rand"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/klog/v2/textlogger"

	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/emulation"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// loadNode is a node on which agents come and go.
type loadNode struct {
	dir     string
	pipes   string      // the prefix of the pipes, on Windows
	trouble atomic.Bool // kernel calls fail and are slow
	calls   atomic.Int64
	failed  atomic.Int64

	mu       sync.RWMutex
	agent    *emulation.Agent             // nil between two agents
	path     func(endpoint string) string // of every agent's endpoints
	restarts int
	reboots  int
}

// open makes the node and starts the first agent.
func open(t *testing.T) *loadNode {
	t.Helper()
	p := &loadNode{dir: testnode.ShortDir(t), pipes: "load-" + crand.Text() + "-"}
	caller.OK(t, p.start())
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// quiet throws away what is logged of thousands of provoked failures.
var quiet = textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(io.Discard)))

func (p *loadNode) start() error {
	a, err := emulation.Start(context.Background(), emulation.Config{
		StateDir: p.dir, Node: emulated.Options{},
		Config: agent.Config{Node: node.Config{Interceptor: p.injectFault, RequirePrivacy: true},
			Transport: transport.Options{PipePrefix: p.pipes}, Server: server.Options{Logger: quiet}},
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.agent, p.path = a, a.Path
	return nil
}

func (p *loadNode) stop() error {
	p.mu.Lock()
	a := p.agent
	p.agent = nil
	p.mu.Unlock()
	if a == nil {
		return nil
	}
	waitCtx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return a.Stop(waitCtx)
}

// restart upgrades the agent: one goes and the next one comes, while Windows keeps running.
func (p *loadNode) restart() error {
	p.restarts++
	if err := p.stop(); err != nil {
		return err
	}
	return p.start()
}

func (p *loadNode) reboot() error {
	p.reboots++
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.agent.Restart()
}

// onNode does something on the node as the cloud would, past the agent.
func (p *loadNode) onNode(do func(*emulated.Node) error) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.agent == nil {
		return errors.New("the node is between two agents")
	}
	return do(p.agent.Emulated)
}

func (p *loadNode) onFile(path string, work func(hostPath string) error) error {
	return p.onNode(func(n *emulated.Node) error {
		hostPath, err := n.HostPath(path)
		if err != nil {
			return err
		}
		return work(hostPath)
	})
}

func (p *loadNode) client(t *testing.T) *loadClients { t.Helper(); return dial(t, p.path) }

// injectFault makes one kernel call in 150 fail, half of them after it took effect, and one in 600 take a while.
func (p *loadNode) injectFault(_ context.Context, call kernel.Call, do func() error) error {
	p.calls.Add(1)
	if !p.trouble.Load() {
		return do()
	}
	switch n := rand.IntN(1200); {
	case n < 4:
		p.failed.Add(1)
		return &kernel.Error{Function: call.Function, Object: call.Object, Code: win32.ERROR_IO_DEVICE}
	case n < 8:
		p.failed.Add(1)
		if err := do(); err != nil {
			return err
		}
		return &kernel.Error{Function: call.Function, Object: call.Object, Code: win32.ERROR_NOT_READY}
	case n < 10:
		pause := time.NewTimer(time.Duration(rand.IntN(20)) * time.Millisecond)
		<-pause.C
	}
	return do()
}
