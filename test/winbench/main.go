// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
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
	also         string        // what the page says of starts elsewhere
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
	startsOnly := flags.Bool("starts-only", false, "measure nothing but the starts, and write their table")
	also := flags.String("also", "", "the `file` with the table that -starts-only wrote in other surroundings, for the page")
	out := flags.String("o", "", "the `file` to write the page to, besides standard output")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.starts < 1 || o.rounds < 1 {
		return fmt.Errorf("-starts=%d -rounds=%d: both have to be at least 1", o.starts, o.rounds)
	}
	if *also != "" {
		text, err := os.ReadFile(*also)
		if err != nil {
			return err
		}
		o.also = string(text)
	}
	r, err := begin(o)
	if err != nil {
		return err
	}
	var page string
	if *startsOnly {
		err = r.start(ctx)
		page = r.startTable()
	} else {
		err = r.measure(ctx)
		page = r.page()
	}
	if err != nil {
		return err
	}
	if _, err := os.Stdout.WriteString(page); err != nil || *out == "" {
		return err
	}
	return os.WriteFile(*out, []byte(page), 0o644) //nolint:gosec // a document for everybody
}

// begin looks at the machine and the agent's file.
func begin(o options) (*results, error) {
	r := &results{options: o, begun: time.Now()}
	info, err := os.Stat(o.agent)
	if err != nil {
		return nil, err
	}
	r.bytes = info.Size()
	if r.system, err = system(); err != nil {
		return nil, err
	}
	return r, nil
}

// measure starts each program many times, and then calls the agent on either host.
func (r *results) measure(ctx context.Context) error {
	if err := r.start(ctx); err != nil {
		return err
	}
	err := withPrograms(r.options, func(n int, p program) error { return r.observe(ctx, &r.starts[n], p) })
	r.took = time.Since(r.begun)
	return err
}

// start starts each program many times, in turns.
func (r *results) start(ctx context.Context) error {
	for range r.options.starts {
		err := withPrograms(r.options, func(n int, p program) error {
			if n == len(r.starts) {
				r.starts = append(r.starts, starts{name: p.name})
			}
			return r.starts[n].add(ctx, p)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// withPrograms does something with each program, in a directory for what they write.
func withPrograms(o options, do func(n int, p program) error) error {
	dir, err := os.MkdirTemp("", "winbench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for n, p := range programs(o, dir) {
		if err := do(n, p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}
