// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/buildversion"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
)

// stopLimit is how long the agent waits, once told to stop, for the node's running operations: a format takes a while.
const stopLimit = 2 * time.Minute

// crashed is the exit code when a fault of the emulated node asks for a crash: the one that a shell shows after SIGKILL.
const crashed = 137

// serve runs an agent until told is over or a failure ends it. It calls ready with the number of API endpoints once
// all of them accept calls.
func serve(ctx, told context.Context, o *options, ready func(endpoints int) error) (err error) {
	logger := klog.FromContext(ctx)
	for _, name := range o.deprecated {
		logger.Info("deprecated flag: its directory is allowed as a working directory; use -working-dir", "flag", name)
	}

	boundMemory(logger)
	if err := o.readyFile.disappear(); err != nil {
		return err
	}
	l, err := listenMetrics(o.metrics, logger)
	if err != nil {
		return err
	}
	if l != nil {
		defer l.Close()
	}
	ui, err := o.page.listen()
	if err != nil {
		return err
	}
	if ui != nil {
		defer ui.Close()
	}
	rules, err := o.loadPolicy(logger)
	if err != nil {
		return err
	}
	record, closeAudit, err := o.audit.open(logger)
	if err != nil {
		return err
	}
	defer closeAudit() // after the agent: calls end while it stops
	a, err := agent.Start(told, agent.Config{
		Kernel:            o.kernel(),
		StateDir:          o.stateDir,
		RecordsDir:        o.recordsDir(logger),
		Emulated:          emulated.Options{Scenario: o.scenario},
		SocketDir:         o.socketDir,
		PipeSecurity:      o.pipeSecurity,
		WorkingDirs:       o.workingDirs,
		RequirePrivacy:    o.privacy,
		EraseOnFormat:     o.erase,
		ProtectedServices: o.protected,
		APIs:              &o.apis,
		Crash:             func() { os.Exit(crashed) },
		Metrics:           l != nil,
		CallTimeout:       o.callTimeout,
		Policy:            rules,
		Audit:             record,
	})
	if err != nil {
		if told.Err() != nil && ctx.Err() == nil {
			return nil // told to stop while it started
		}
		return err
	}
	if l != nil {
		stop := a.Metrics().Serve(l)
		defer stop() // after the agent, so that its stopping can be watched
	}
	defer func() {
		patience, cancel := context.WithTimeout(ctx, stopLimit)
		defer cancel()
		err = errors.Join(err, a.Stop(patience))
		logger.Info("stopped")
	}()
	if ui != nil {
		stop, err := o.page.serve(ctx, ui, a, o.workingDirs, logger)
		if err != nil {
			return err
		}
		defer stop() // before the agent
	}
	logger.Info("serving", "version", version(), "host", o.host, "endpoints", a.Ready(), "at", a.Path("csi-proxy-*"), "workingDirs", o.workingDirs)
	defer func() { err = errors.Join(err, o.readyFile.disappear()) }() // before the agent stops
	if err := o.readyFile.appear(a.Ready()); err != nil {
		return err
	}
	if err := ready(a.Ready()); err != nil {
		return fmt.Errorf("cannot say that the agent is ready: %w", err)
	}
	go giveBackMemory(told)

	select {
	case <-told.Done():
		logger.Info("told to stop")
		return nil
	case err := <-a.Failed():
		return err
	}
}

// kernel returns the node to work on, or nil for an emulated one, which the agent opens.
func (o *options) kernel() kernel.Kernel {
	if o.host == hostEmulated {
		return nil
	}
	return thisMachine()
}

// version returns the description of this binary.
func version() string {
	return fmt.Sprintf("csi-proxy %s %s %s/%s", buildversion.String(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
