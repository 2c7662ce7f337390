// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/app"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winservice"
)

// options are the options of the command line.
type options struct {
	*app.Options
	service bool // run as a Windows service
	started bool // by the Service Control Manager
}

func newOptions() *options {
	o := &options{Options: app.NewOptions("csi-proxy"), started: winservice.Started()}
	o.Flags.BoolVar(&o.service, "windows-service", o.started,
		"run under the Windows Service Control Manager; the default is whether that has started this process")
	return o
}

// parse reads the command line. Its errors mean app.ExitUsage, except flag.ErrHelp.
func (o *options) parse(args []string) error {
	if err := o.Parse(args); err != nil || o.Version {
		return err
	}
	if runtime.GOOS != "windows" {
		return fmt.Errorf("csi-proxy works on Windows, and this is %s; for an emulated node run "+
			"csi-proxy-emulated -state-dir=DIR", runtime.GOOS)
	}
	if o.service {
		return o.checkService()
	}
	return nil
}

const usage = `CSI Proxy serves storage operations of a Windows node to CSI drivers.

Usage:
  csi-proxy [flags]       serve; prints "ready N" when all N API endpoints accept calls
  csi-proxy version       print the version
  csi-proxy service ...   install, start, stop or remove the Windows service; csi-proxy service -help says more

Exit codes: 0 stopped by a signal, 1 failed, 2 wrong usage.

Flags of the agent:
`
