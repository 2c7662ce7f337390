// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/buildversion"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// StopLimit is how long an agent waits, once told to stop, for the node's running operations: a format takes a while.
const StopLimit = 2 * time.Minute

// A Start starts a program's agent with the configuration that the common flags ask for. Stop stops it, and what else
// was started.
type Start func(ctx context.Context, c agent.Config) (a *agent.Agent, stop func(context.Context) error, err error)

// Serve runs an agent until told is over or a failure ends it. Ready gets the number of endpoints once all accept.
func (o *Options) Serve(ctx, told context.Context, start Start, ready func(endpoints int) error) (err error) {
	logger := klog.FromContext(ctx)
	for _, d := range o.deprecated {
		if o.Given(d.name) {
			logger.Info("deprecated flag: its directory is allowed as a working directory; use -working-dir", "flag", "-"+d.name)
		}
	}
	limitMemory()
	l, err := listenMetrics(o.metrics, logger)
	if err != nil {
		return err
	}
	if l != nil {
		defer l.Close()
	}
	rules, err := o.loadPolicy(logger)
	if err != nil {
		return err
	}
	record, closeAudit, err := o.Audit.open(logger)
	if err != nil {
		return err
	}
	defer closeAudit() // after the agent: calls end while it stops
	config := o.config
	config.Transport.SocketDir, config.Node.WorkingDirs = o.SocketDir, o.WorkingDirs()
	config.Metrics, config.Server.Policy = l != nil, rules
	if record != nil {
		config.Server.Recorders = []server.Recorder{record}
	}
	a, stop, err := start(told, config)
	if err != nil {
		if told.Err() != nil && ctx.Err() == nil {
			return nil // told to stop while it started
		}
		return err
	}
	if l != nil {
		defer a.Metrics().Serve(l)() // after the agent, so that its stopping can be watched
	}
	defer func() {
		waitCtx, cancel := context.WithTimeout(ctx, StopLimit)
		defer cancel()
		err = errors.Join(err, stop(waitCtx))
		logger.Info("stopped")
	}()
	logger.Info("serving", "version", Version(o.program), "endpoints", a.Ready(), "at", a.Path("csi-proxy-*"),
		"workingDirs", o.WorkingDirs())
	lookAround(told, a, logger)
	if err := ready(a.Ready()); err != nil {
		return fmt.Errorf("cannot say that the agent is ready: %w", err)
	}

	select {
	case <-told.Done():
		logger.Info("told to stop")
		return nil
	case <-a.Failed().Done():
		return context.Cause(a.Failed())
	}
}

// lookAround logs which working directories cannot be used, and cleans up what a death of the agent left of shares.
func lookAround(ctx context.Context, a *agent.Agent, logger klog.Logger) {
	n, err := a.Node()
	if err != nil {
		return // it stops already
	}
	waitCtx, cancel := context.WithTimeout(ctx, 2*time.Second) // Windows may hang
	defer cancel()
	unusable, _ := n.Filesystem.UnusableDirectories(waitCtx)
	for _, d := range unusable {
		logger.Error(errors.New(d.GetError()), "calls will fail for all paths below this directory: see -kubelet-path and "+
			"-working-dir", "directory", d.GetPath())
	}
	go func() {
		if err := n.Steps.CleanShares(klog.NewContext(ctx, logger)); err != nil && ctx.Err() == nil {
			logger.Info("shares whose links are gone may stay mapped until the next start", "err", err)
		}
	}()
}

// loadPolicy reads the policy, nil without the flag. An agent that lacks its rules would allow every call.
func (o *Options) loadPolicy(logger klog.Logger) (*policy.Policy, error) {
	if o.Policy == "" {
		return nil, nil //nolint:nilnil // off is not a failure
	}
	rules, err := policy.Load(o.Policy)
	if err != nil {
		return nil, fmt.Errorf("-policy: %w", err)
	}
	logger.Info("clients may do what the policy allows", "policy", o.Policy, "rules", len(rules.Rules()))
	return rules, nil
}

// Version returns the description of a program: its version, Go's and its platform.
func Version(program string) string {
	return fmt.Sprintf("%s %s %s %s/%s", program, buildversion.String(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// memoryLimit is how much Go's runtime uses before it collects garbage more often: three quarters of what the chart
// allows. The rest is for what the runtime does not count, such as the threads of hanging kernel calls.
const memoryLimit = 192 << 20

// limitMemory keeps the heap from growing to twice of what is in use, unless GOMEMLIMIT says how much it may be.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
