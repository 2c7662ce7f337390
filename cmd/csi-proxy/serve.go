// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// stopLimit is how long the agent waits, once told to stop, for the node's running operations: a format takes a while.
const stopLimit = 2 * time.Minute

// crashed is the exit code when a fault of the emulated node asks for a crash: what a shell shows after SIGKILL.
const crashed = 137

// serve runs an agent until a signal or a failure ends it.
func serve(ctx context.Context, o *options, stdout io.Writer) (err error) {
	signals, forget := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer forget()
	defer klog.Flush()
	logger := klog.FromContext(ctx)
	for _, name := range o.deprecated {
		logger.Info("deprecated flag: its directory is allowed as a working directory; use -working-dir", "flag", name)
	}

	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	a, err := agent.Start(signals, agent.Config{
		StateDir:       o.stateDir,
		Emulated:       emulated.Options{Scenario: o.scenario},
		SocketDir:      o.socketDir,
		WorkingDirs:    o.workingDirs,
		RequirePrivacy: o.privacy,
		APIs:           &o.apis,
		Crash:          func() { os.Exit(crashed) },
		Metrics:        server.NewMetrics(registry),
	})
	if err != nil {
		if signals.Err() != nil && ctx.Err() == nil {
			return nil // told to stop while it started
		}
		return err
	}
	defer func() {
		patience, cancel := context.WithTimeout(ctx, stopLimit)
		defer cancel()
		err = errors.Join(err, a.Stop(patience))
		logger.Info("stopped")
	}()
	if o.metrics != "" {
		l, err := net.Listen("tcp", o.metrics)
		if err != nil {
			return fmt.Errorf("cannot serve metrics: %w", err)
		}
		stop := server.Observe(l, registry, func() bool { return a.Ready() > 0 })
		defer func() { _ = stop(ctx) }()
	}
	logger.Info("serving", "version", version(), "host", o.host, "endpoints", a.Ready(), "sockets", a.SocketDir(), "workingDirs", o.workingDirs)
	if _, err := fmt.Fprintf(stdout, "ready %d\n", a.Ready()); err != nil {
		return fmt.Errorf("cannot say that the agent is ready: %w", err)
	}

	select {
	case <-signals.Done():
		logger.Info("told to stop; a second signal ends the agent at once")
		forget()
		return nil
	case err := <-a.Failed():
		return err
	}
}

// version describes this binary.
func version() string {
	v := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v = info.Main.Version
	}
	return fmt.Sprintf("csi-proxy %s %s %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
