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
	o, err := parse(args, stderr)
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
	if err := serve(ctx, o, stdout); err != nil {
		_, _ = fmt.Fprintf(stderr, "csi-proxy: %v\n", err)
		return exitFailed
	}
	return exitOK
}
