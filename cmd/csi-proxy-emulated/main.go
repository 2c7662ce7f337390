// SPDX-License-Identifier: Apache-2.0

// Command csi-proxy-emulated is the CSI Proxy node agent on an emulated node, a Windows node made of files: for tests
// of CSI drivers, on any operating system.
package main

import (
	"context"
	"errors"
	"os"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/app"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/emulation"
)

// crashed is the exit code when a fault asks for a crash: the one that a shell shows after SIGKILL.
const crashed = 137

func main() {
	o := newOptions()
	parsed := o.parse(os.Args[1:])
	p := app.Program{
		Options: o.Options, Usage: usage, Start: o.start, Ready: o.readyFile.appear, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	os.Exit(p.Run(context.Background(), parsed))
}

// served is an agent with its page and its ready file.
type served struct {
	*emulation.Agent
	readyFile readyFile
	closePage func()
}

// Stop takes the ready file away and closes the page before the agent stops.
func (s *served) Stop(ctx context.Context) error {
	err := s.readyFile.disappear()
	s.closePage()
	return errors.Join(err, s.Agent.Stop(ctx))
}

// start starts the agent on the emulated node, and its page.
func (o *options) start(ctx context.Context, c agent.Config) (_ *agent.Agent, stop func(context.Context) error,
	err error) {
	if err := o.readyFile.disappear(); err != nil {
		return nil, nil, err
	}
	l, err := o.page.listen()
	if err != nil {
		return nil, nil, err
	}
	s := &served{readyFile: o.readyFile, closePage: func() {}}
	s.Agent, err = emulation.Start(ctx, emulation.Config{
		Config: c, StateDir: o.stateDir, Node: emulated.Options{Scenario: o.scenario}, Crash: func() { os.Exit(crashed) },
	})
	if l == nil || err != nil {
		if l != nil {
			_ = l.Close()
		}
		if err != nil {
			return nil, nil, err
		}
		return s.Agent.Agent, s.Stop, nil
	}
	if s.closePage, err = o.page.serve(l, s.Agent, o.WorkingDirs(), klog.FromContext(ctx)); err != nil {
		return nil, nil, errors.Join(err, l.Close(), s.Agent.Stop(ctx))
	}
	return s.Agent.Agent, s.Stop, nil
}
