// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/app"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

// options are the options of the command line.
type options struct {
	*app.Options
	stateDir  string
	scenario  *scenario.Scenario // nil: the default one, or the node that is there
	readyFile readyFile
	page      pageFlags
}

func newOptions() *options {
	o := &options{Options: app.NewOptions("csi-proxy-emulated")}
	o.Flags.StringVar(&o.stateDir, "state-dir", "", "`directory` in which the node lives; made if missing; required")
	o.Flags.String("scenario", "",
		"what a new node is made of: a `file or profile` ("+strings.Join(scenario.Profiles(), ", ")+")")
	o.Flags.StringVar(&o.SocketDir, "socket-dir", "",
		"`directory` of the unix sockets, where there are no named pipes (default: run in the state directory)")
	o.Flags.StringVar((*string)(&o.readyFile), "ready-file", "",
		"`file` that exists while all endpoints accept calls; empty: none")
	o.page.register(o.Flags)
	return o
}

// parse reads the command line. Its errors mean app.ExitUsage, except flag.ErrHelp.
func (o *options) parse(args []string) error {
	if err := o.Parse(args); err != nil || o.Version {
		return err
	}
	if o.stateDir == "" {
		return errors.New("-state-dir=DIR is required: the directory in which the node lives")
	}
	if runtime.GOOS == "windows" && o.SocketDir != "" {
		return errors.New("-socket-dir is for systems without named pipes: on Windows the agent serves pipes")
	}
	o.readyFile = readyFile(app.OnDriveC(string(o.readyFile)))
	if err := o.page.check(); err != nil {
		return err
	}
	return o.loadScenario(o.Flags.Lookup("scenario").Value.String())
}

// loadScenario reads the scenario of a node that does not exist yet.
func (o *options) loadScenario(nameOrPath string) error {
	switch {
	case !o.Given("scenario"):
		return nil
	case nameOrPath == "":
		return errors.New("-scenario is empty: it needs a file or a profile")
	}
	s, err := scenario.Load(nameOrPath)
	if err != nil {
		return fmt.Errorf("-scenario: %w", err)
	}
	if emulated.Exists(o.stateDir) {
		return fmt.Errorf("-scenario is for a new node, and %s holds one: leave the flag out, or use an empty state "+
			"directory", o.stateDir)
	}
	o.scenario = &s
	return nil
}

const usage = `CSI Proxy's agent on an emulated node, a Windows node made of files: for tests of CSI drivers.

Usage:
  csi-proxy-emulated -state-dir=DIR [flags]  serve; prints "ready N" when all N API endpoints accept calls
  csi-proxy-emulated version                 print the version

Exit codes: 0 stopped by a signal, 1 failed, 2 wrong usage.

Flags of the agent:
`
