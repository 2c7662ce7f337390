// SPDX-License-Identifier: Apache-2.0

// Command bench measures the agent as a process and writes docs/performance.md, or on Windows
// docs/performance-windows.md. Everything is compared within one run: calls with those of a bare gRPC echo, a program's
// start and memory with an empty program's. The things compared take turns, so that whatever else the machine does
// affects both alike, and the run goes on until the confidence interval is narrow.
//
// It is not a set of Go benchmarks read by benchstat. The testing package runs one benchmark to its end before the
// next, so that the machine's drift looks like a difference, and does not know when a figure is good enough; benchstat
// compares with another run and not with a goal. The statistics are benchstat's own, golang.org/x/perf/benchmath.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/dial"
)

// options set how long and how often things are measured.
type options struct {
	Rounds int           // at most
	Slice  time.Duration // one call's turn
	Rest   time.Duration // after a start, before memory is looked at
	Minute time.Duration // after a load, until memory is last looked at
	Calls  int64         // of a load
	Disks  []uint32      // data disks of the emulated nodes
	Nodes  int           // of a fleet
}

// A bench is one run.
type bench struct {
	options
	dir      string // for built and written files
	programs string // where the binaries are
	upstream string // another agent to measure; empty: none
	sideOnly bool   // nothing but the table that sets agents side by side
	report
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

func run(ctx context.Context, args []string) (err error) {
	if len(args) == 2 && args[0] == "echo" {
		return serveEcho(args[1])
	}
	if len(args) == 3 && args[0] == "fleet" {
		return serveFleet(ctx, args[1], args[2])
	}
	b := &bench{
		options: options{Rounds: 60, Slice: 10 * time.Millisecond, Rest: 3 * time.Second, Minute: time.Minute, Calls: 4000,
			Disks: []uint32{2, 500}, Nodes: 50},
		report: begin(),
	}
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.StringVar(&b.programs, "programs", "",
		"the `directory` with the binaries csi-proxy and empty, and large if there is one (default: build the former)")
	flags.StringVar(&b.upstream, "upstream", "",
		"on Windows another `csi-proxy.exe` to measure as well, which serves the same pipes")
	flags.BoolVar(&b.sideOnly, "side", false,
		"measure only what sets agents side by side, and write that part of the page")
	flags.StringVar(&b.Load, "load", b.Load, "the machine's `load` when the run began, for the page")
	flags.IntVar(&b.Rounds, "rounds", b.Rounds, "the most rounds in which a figure is measured")
	flags.DurationVar(&b.Minute, "minute", b.Minute, "how long memory is watched after a load")
	out := flags.String("o", "", "the `file` to write the page to, besides standard output")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "bench"); err != nil { // a short path: sockets are made in it
		return err
	}
	defer func() { _ = os.RemoveAll(b.dir) }()
	if err := b.measure(ctx); err != nil {
		return err
	}
	page, err := b.page()
	if err != nil {
		return err
	}
	if _, err := os.Stdout.WriteString(page); err != nil || *out == "" {
		return err
	}
	return os.WriteFile(*out, []byte(page), 0o644) //nolint:gosec // a document for everybody
}

// measure measures everything.
func (b *bench) measure(ctx context.Context) error {
	if b.programs == "" {
		b.programs = filepath.Join(b.dir, "programs")
		const module = "github.com/kubernetes-csi/csi-proxy/"
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", b.programs+"/", module+"cmd/csi-proxy", module+"cmd/csi-proxy-emulated", module+"test/bench/empty") //nolint:gosec // the path is ours
		if text, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building the programs: %w\n%s", err, text)
		}
	}
	info, err := os.Stat(b.binary("csi-proxy"))
	if err != nil {
		return err
	}
	b.Megabytes = float64(info.Size()) / 1e6
	agents, err := b.agents(ctx)
	if err != nil {
		return err
	}
	if b.Windows { // elsewhere the process has no storage to ask
		if err := b.measureDirect(ctx); err != nil {
			return fmt.Errorf("in the process: %w", err)
		}
	}
	if b.sideOnly {
		return b.sideBySide(ctx, agents)
	}
	first := agents
	if !b.Windows {
		first = agents[:1] // of the one with many disks only the reads count
	}
	if err := b.sideBySide(ctx, first); err != nil {
		return err
	}
	empty := program{name: "empty Go program", command: []string{b.binary("empty")}}
	started := append([]program{empty}, first...)
	large := b.binary("large")
	if _, err := os.Stat(large); err == nil { // hack/bench-wine.sh makes it
		started = append(started, program{name: "empty Go program as large as the agent", command: []string{large}})
	}
	if b.Starts, err = measureStarts(ctx, b.options, started); err != nil {
		return err
	}
	for _, p := range first {
		row, err := measureLoad(ctx, b.options, p)
		if err != nil {
			return err
		}
		b.Loads = append(b.Loads, row)
	}
	if !b.Windows { // where two nodes cannot serve the same pipes
		if b.Fleet, err = measureFleet(ctx, b.options, b.dir); err != nil {
			return err
		}
		if err := b.measureStages(ctx); err != nil {
			return fmt.Errorf("stages: %w", err)
		}
	}
	err = b.withEcho(ctx, func(address string) error {
		for _, p := range agents {
			if err := with(ctx, p, func(int, float64) error { return b.call(ctx, p, address) }); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
		return nil
	})
	b.Took = time.Since(b.Begun).Round(time.Second)
	return err
}

// withEcho starts the echo and calls do with its address.
func (b *bench) withEcho(ctx context.Context, do func(address string) error) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	address := echoAddress(b.dir)
	return with(ctx, program{name: "echo", command: []string{self, "echo", address}},
		func(int, float64) error { return do(address) })
}

// call measures the calls of a running agent.
func (b *bench) call(ctx context.Context, p program, address string) (err error) {
	echo, err := dial.Open(ctx, address, dial.Options{})
	if err != nil {
		return err
	}
	defer echo.Close()
	n := connect(ctx, p)
	defer n.close()
	h := host{Name: p.name}
	if h.Reads, err = measureReads(ctx, b.options, p.at, n, echo); err != nil {
		return err
	}
	if !b.Windows {
		if h.Life, err = measureLife(ctx, b.options, n); err == nil {
			err = b.measureStats(ctx, n, echo) // the last node, which has the most volumes, counts
		}
	}
	b.Hosts = append(b.Hosts, h)
	return err
}

// agents returns, on Windows, the agent on the machine itself, and another one if given; elsewhere, the agent on
// emulated nodes with few and with many disks.
func (b *bench) agents(ctx context.Context) (agents []program, err error) {
	disks := b.Disks
	if b.sideOnly {
		disks = disks[:1]
	}
	if b.Windows {
		disks = nil
		at := place{link: plugins, inside: plugins, service: windowsService}
		agents = append(agents, program{name: "agent, -host=windows", command: []string{b.binary("csi-proxy")}, at: at})
		if b.upstream != "" {
			agents = append(agents, program{name: "upstream", command: []string{b.upstream}, at: at, silent: true})
		}
		if err := os.MkdirAll(plugins, 0o750); err != nil {
			return nil, err
		}
	}
	for _, count := range disks {
		p, err := b.emulated(ctx, count)
		if err != nil {
			return nil, err
		}
		agents = append(agents, p)
	}
	return agents, nil
}

func (b *bench) binary(name string) string {
	if b.Windows {
		name += ".exe"
	}
	return filepath.Join(b.programs, name)
}

// emulated makes an emulated node with data disks, each partitioned and formatted, and returns the agent on it.
func (b *bench) emulated(ctx context.Context, disks uint32) (program, error) {
	dir := filepath.Join(b.dir, fmt.Sprint(disks))
	p := program{
		name: fmt.Sprintf("agent, emulated node with %d disks", disks), sockets: filepath.Join(dir, "run"),
		command: []string{b.binary("csi-proxy-emulated"), "-state-dir=" + dir},
	}
	err := with(ctx, p, func(int, float64) (err error) {
		n := connect(ctx, p)
		defer n.close()
		p.at, err = n.prepare(ctx, disks)
		return err
	})
	return p, err
}
