// SPDX-License-Identifier: Apache-2.0

// Command csi-proxy is the CSI Proxy node agent: it serves privileged storage operations of the Windows node that it
// runs on to CSI drivers. csi-proxy-emulated is the same agent on an emulated node.
package main

import (
	"context"
	"io"
	"os"
	"sync"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/app"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/records"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winservice"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with its surroundings as arguments; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "service" {
		return service(ctx, args[1:], stdout, stderr)
	}
	o := newOptions()
	err := o.parse(args)
	if o.asService(args, err) {
		return runService(ctx, o, err, stderr)
	}
	return app.Program{Options: o.Options, Usage: usage, Start: startAgent, Stdout: stdout, Stderr: stderr}.Run(ctx, err)
}

// startAgent starts an agent on this machine.
func startAgent(ctx context.Context, c agent.Config) (_ *agent.Agent, stop func(context.Context) error, err error) {
	// The Service Control Manager is asked only when a call wants to stop a service: the answer takes longer than the
	// rest of the start.
	c.Node.OwnService = sync.OnceValue(winservice.Own)
	c.Kernel = windows.New()
	if c.Node.Records, err = records.MachineDir(); err != nil {
		klog.FromContext(ctx).Error(err, "StageShare is refused until the agent is started again")
	}
	a, err := agent.Start(ctx, c)
	return a, a.Stop, err
}
