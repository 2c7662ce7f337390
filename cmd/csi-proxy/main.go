// SPDX-License-Identifier: Apache-2.0

// Command csi-proxy is the CSI Proxy node agent: it serves privileged storage operations of a Windows node to CSI
// drivers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the agent could not start, or could not go on
	exitUsage  = 2 // a flag or an argument is wrong
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with its surroundings as arguments; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "service" {
		return service(ctx, args[1:], stdout, stderr)
	}
	o, err := parse(args, stderr)
	if asService(o, args) {
		return runService(ctx, o, err, stderr)
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "csi-proxy: %v\nRun csi-proxy -help for the flags.\n", err)
		return exitUsage
	case o.version:
		if _, err := fmt.Fprintln(stdout, version()); err != nil {
			return exitFailed
		}
		return exitOK
	}
	if err := serveConsole(ctx, o, stdout); err != nil {
		_, _ = fmt.Fprintf(stderr, "csi-proxy: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// serveConsole runs an agent until a signal, such as the one of Ctrl+C or of a container's end, or a failure ends it.
// A second signal ends it at once.
func serveConsole(ctx context.Context, o *options, stdout io.Writer) error {
	closeLog, err := o.log.open()
	if err != nil {
		return err
	}
	defer closeLog()
	signals, forget := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer forget()
	context.AfterFunc(signals, forget)
	return serve(ctx, signals, o, func(endpoints int) error {
		_, err := fmt.Fprintf(stdout, "ready %d\n", endpoints)
		return err
	})
}
