// SPDX-License-Identifier: Apache-2.0

// Command bench sets the agent beside a bare gRPC echo on a pipe and, if given, beside another csi-proxy.exe: the
// start, the memory, and PathExists. It is for Windows and Wine; elsewhere it measures the agent on an emulated node.
// The package's benchmarks measure the agent's costs on Linux.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"
)

// options are the command line.
type options struct {
	programs string // the directory of our agent
	upstream string // another agent; "": none
	rounds   int
	turns    int           // of each call beside the other
	slice    time.Duration // of a turn
	rest     time.Duration // after a start
	later    time.Duration // after the calls
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 2 && args[0] == "echo" {
		return serveEcho(args[1])
	}
	var o options
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.StringVar(&o.programs, "programs", "", "the `directory` with this project's agent")
	flags.StringVar(&o.upstream, "upstream", "", "another `csi-proxy.exe` to measure in turns with it")
	flags.IntVar(&o.rounds, "rounds", 10, "how often each agent is started and measured")
	flags.IntVar(&o.turns, "turns", 40, "how often the agent and the echo are called in turns")
	flags.DurationVar(&o.slice, "slice", 25*time.Millisecond, "how long such a turn takes")
	flags.DurationVar(&o.rest, "rest", 3*time.Second, "when memory is looked at after a start")
	flags.DurationVar(&o.later, "later", 20*time.Second, "when memory is looked at again after the calls")
	if err := flags.Parse(args); err != nil {
		return err
	}
	text, err := compare(ctx, o)
	fmt.Print(text) //nolint:forbidigo // this is main
	return err
}

// compare measures the agents in turns and returns the table.
func compare(ctx context.Context, o options) (string, error) {
	dir, err := os.MkdirTemp("", "bench") // a short path, for sockets
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	echo := program{name: "echo", command: []string{self, "echo", echoAddress(dir)}, endpoints: []string{echoAddress(dir)}}
	agents := []program{agentOf(filepath.Join(o.programs, agentFile), "csi-proxy", dir)}
	if o.upstream != "" {
		agents = append(agents, agentOf(o.upstream, "upstream", dir))
	}
	for i := range agents {
		if err := agents[i].findEndpoints(ctx); err != nil {
			return "", err
		}
	}
	undo, err := makePlugins()
	defer undo()
	if err != nil {
		return "", err
	}
	results := make([]figures, len(agents))
	for round := range o.rounds {
		for i := range agents {
			i = (i + round) % len(agents) // not always in the same order
			one, err := measure(ctx, o, agents[i], echo)
			if err != nil {
				return "", fmt.Errorf("%s: %w", agents[i].name, err)
			}
			results[i] = append(results[i], one)
		}
	}
	note := fmt.Sprintf("%s, %s on %d processors, %d rounds.", system(), runtime.GOARCH, runtime.NumCPU(), o.rounds)
	return table(agents, results, o.later) + "\n" + note + "\n", nil
}
