// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// options say what is measured and for how long.
type options struct {
	agent  string        // the agent's binary; empty: it is built
	echo   []string      // the command of the echo server; the socket is added
	few    int           // data disks of the smaller node
	many   int           // and of the larger one
	slice  time.Duration // for which one server is called before it is the next one's turn
	rounds int           // of turns
	lives  int           // rounds of volume lifecycles

	callers []int // at once, besides one
}

// standard takes less than three minutes on two cores, brief just shows that everything works.
func standard() options {
	return options{few: 2, many: 500, slice: 10 * time.Millisecond, rounds: 20, lives: 5, callers: []int{8, 64}}
}

func brief() options {
	return options{few: 1, many: 4, slice: time.Millisecond, rounds: 1, lives: 1, callers: []int{2}}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		stop()
		os.Exit(1) //nolint:forbidigo,gocritic // this is main, and stop has been called
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 2 && args[0] == "echo" {
		return serveEcho(args[1], os.Stdin)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	o := standard()
	flags.StringVar(&o.agent, "agent", "", "the csi-proxy `binary` to measure (default: it is built)")
	out := flags.String("o", "", "the `file` to write the report to, besides standard output")
	short := flags.Bool("short", false, "a few calls of everything; the figures mean nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *short {
		binary := o.agent
		o = brief()
		o.agent = binary
	}
	o.echo = []string{self, "echo"}
	results, err := measure(ctx, o)
	if err != nil {
		return err
	}
	report := results.markdown()
	if _, err := os.Stdout.WriteString(report); err != nil || *out == "" {
		return err
	}
	return os.WriteFile(*out, []byte(report), 0o644) //nolint:gosec // a document for everybody
}

// measure prepares the nodes, starts the servers and measures everything.
func measure(ctx context.Context, o options) (*results, error) {
	dir, err := os.MkdirTemp("", "bench") // a short path: sockets are made in it
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if o.agent == "" {
		o.agent = filepath.Join(dir, "csi-proxy")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", o.agent, "github.com/kubernetes-csi/csi-proxy/cmd/csi-proxy") //nolint:gosec // the path is ours
		if text, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building the agent: %w\n%s", err, text)
		}
	}
	r := &results{options: o, begun: time.Now(), load: load()}
	few, stopFew, err := startNode(ctx, o.agent, filepath.Join(dir, "few"), o.few)
	if err != nil {
		return nil, err
	}
	defer stopFew()
	many, stopMany, err := startNode(ctx, o.agent, filepath.Join(dir, "many"), o.many)
	if err != nil {
		return nil, err
	}
	defer stopMany()
	socket := filepath.Join(dir, "echo.sock")
	stop, err := startEcho(ctx, o.echo, socket)
	if err != nil {
		return nil, err
	}
	defer stop()
	if err := r.measureReads(ctx, few, many, socket); err != nil {
		return nil, err
	}
	if err := r.measureLives(ctx, few, many, socket); err != nil {
		return nil, err
	}
	r.took = time.Since(r.begun)
	return r, nil
}

// startNode prepares a node and starts an agent on it.
func startNode(ctx context.Context, binary, dir string, disks int) (*target, func(), error) {
	n, err := prepare(ctx, dir, disks)
	if err != nil {
		return nil, nil, fmt.Errorf("preparing a node with %d disks: %w", disks, err)
	}
	stop, err := startAgent(ctx, binary, dir)
	return n, stop, err
}
