// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/klog/v2"
)

// Exit codes.
const (
	ExitOK     = 0
	ExitFailed = 1 // the agent could not start, or could not go on
	ExitUsage  = 2 // a flag or an argument is wrong
)

// A Program is one of the agents, started from a console or a container.
type Program struct {
	*Options
	Usage string // above the flags, in the help
	Start Start
	// Ready is called once all endpoints accept calls, before the line that reports it; it may be nil.
	Ready func(endpoints int) error

	Stdout, Stderr io.Writer
}

// Run runs the program, whose command line Parse has read with the result parsed. It returns the exit code.
func (p Program) Run(ctx context.Context, parsed error) int {
	switch {
	case errors.Is(parsed, flag.ErrHelp):
		_, _ = fmt.Fprint(p.Stderr, p.Usage)
		p.printFlags()
		return ExitOK
	case parsed != nil:
		_, _ = fmt.Fprintf(p.Stderr, "%s: %v\nRun %s -help for the flags.\n", p.program, parsed, p.program)
		return ExitUsage
	case p.Version:
		if _, err := fmt.Fprintln(p.Stdout, Version(p.program)); err != nil {
			return ExitFailed
		}
		return ExitOK
	}
	if err := p.serve(ctx); err != nil {
		_, _ = fmt.Fprintf(p.Stderr, "%s: %v\n", p.program, err)
		return ExitFailed
	}
	return ExitOK
}

// printFlags prints the flags of the agent, and then those that direct its log.
func (p Program) printFlags() {
	ofLog := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(ofLog)
	(&LogFlags{}).register(ofLog)
	for _, log := range []bool{false, true} {
		group := flag.NewFlagSet("", flag.ContinueOnError)
		p.Flags.VisitAll(func(f *flag.Flag) {
			if (ofLog.Lookup(f.Name) != nil) == log {
				group.Var(f.Value, f.Name, f.Usage)
				group.Lookup(f.Name).DefValue = f.DefValue // not the value on the command line
			}
		})
		if log {
			_, _ = fmt.Fprint(p.Stderr, "\nFlags of the log:\n")
		}
		group.SetOutput(p.Stderr)
		group.PrintDefaults()
	}
}

// serve runs the agent until a signal, such as Ctrl+C, or a failure ends it. A second signal ends it at once.
func (p Program) serve(ctx context.Context) error {
	closeLog, err := p.Log.Open()
	if err != nil {
		return err
	}
	defer closeLog()
	signals, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(signals, stop)
	return p.Serve(ctx, signals, p.Start, func(endpoints int) error {
		if p.Ready != nil {
			if err := p.Ready(endpoints); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(p.Stdout, "ready %d\n", endpoints)
		return err
	})
}
