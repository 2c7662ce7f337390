// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"debug/pe"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// options say what is measured and for how long.
type options struct {
	agent, empty string        // the binaries
	starts       int           // of each program
	rest         time.Duration // before memory is looked at
	slice        time.Duration // for which one server is called before it is the next one's turn
	rounds       int           // of turns
	load         string        // of the machine, as the caller saw it
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "winbench: %v\n", err)
		stop()
		os.Exit(1) //nolint:forbidigo,gocritic // this is main, and stop has been called
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 1 && args[0] == "echo" {
		return serveEcho(os.Stdin, os.Stdout)
	}
	flags := flag.NewFlagSet("winbench", flag.ExitOnError)
	o := options{rest: 3 * time.Second, slice: 25 * time.Millisecond}
	flags.StringVar(&o.agent, "agent", "csi-proxy.exe", "the `binary` to measure")
	flags.StringVar(&o.empty, "empty", "empty.exe", "the `binary` of the empty program")
	flags.IntVar(&o.starts, "starts", 25, "how often each program is started")
	flags.IntVar(&o.rounds, "rounds", 40, "how many turns each call gets")
	flags.StringVar(&o.load, "load", "unknown", "the machine's load, for the page")
	out := flags.String("o", "", "the `file` to write the page to, besides standard output")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.starts < 1 || o.rounds < 1 {
		return fmt.Errorf("-starts=%d -rounds=%d: both have to be at least 1", o.starts, o.rounds)
	}
	r, err := measure(ctx, o)
	if err != nil {
		return err
	}
	page := r.page()
	if _, err := os.Stdout.WriteString(page); err != nil || *out == "" {
		return err
	}
	return os.WriteFile(*out, []byte(page), 0o644) //nolint:gosec // a document for everybody
}

// measure starts each program many times, in turns, and then calls the agent on either host.
func measure(ctx context.Context, o options) (*results, error) {
	r := &results{options: o, begun: time.Now()}
	info, err := os.Stat(o.agent)
	if err != nil {
		return nil, err
	}
	r.bytes = info.Size()
	if r.image, err = sections(o.agent); err != nil {
		return nil, err
	}
	if r.emptyImage, err = sections(o.empty); err != nil {
		return nil, err
	}
	if r.system, err = system(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "winbench")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	programs := programs(o, dir)
	r.starts = make([]starts, len(programs))
	for i, p := range programs {
		r.starts[i].name = p.name
	}
	for range o.starts {
		for i, p := range programs {
			if err := r.starts[i].add(ctx, p); err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	for i, p := range programs {
		if err := r.observe(ctx, &r.starts[i], p); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	r.took = time.Since(r.begun)
	return r, nil
}

// sections returns how many bytes of a Windows program are loaded.
func sections(program string) (bytes int64, err error) {
	f, err := pe.Open(program)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	for _, s := range f.Sections {
		bytes += int64(s.Size)
	}
	return bytes, nil
}
