// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
)

const (
	megabyte = 1e6     // of a program's size
	mebibyte = 1 << 20 // of memory
)

// The targets that docs/performance-windows.md is held against.
const (
	mostBytes  = 16 * megabyte
	mostOpen   = 40 * time.Millisecond
	mostMemory = 26 * mebibyte
)

// agentHere is where programs has the agent that works on the machine itself.
const agentHere = 2

// results are everything that was measured.
type results struct {
	options options
	system  string
	begun   time.Time
	took    time.Duration
	bytes   int64
	starts  []starts // as programs has them
}

// page is docs/performance-windows.md.
func (r *results) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Performance as a Windows program

Measured on %[1]s by `+"`make bench-wine`"+`, which wrote this page; `+"`go run ./test/winbench -h`"+` says how to run it on Windows.

The binary is the released one (`+"`make release`"+`). Each program was started %[2]d times, in turns. *First line* is the time from
before CreateProcess until the program's first line came through its standard output. The agent says it when the last of its
%[3]d pipes is open, which is then checked (WaitNamedPipe), the empty Go program first thing in main. Memory is what
GetProcessMemoryInfo says %[4]v after the start, and again %[4]v after the calls below. Each call is made in turns of %[5]v
with a bare gRPC echo of as many bytes, %[6]d rounds of them; the echo is a process of its own on a pipe of the same kind,
without options or interceptors. Ratios are the median over the rounds.

| | |
|---|---|
| date | %[7]s |
| machine | %[8]s on %[9]s |
| processors used | %[10]d |
| load when the run began | %[11]s |
| Go, gRPC | %[12]s, %[13]s |
| the run took | %[14]v |

`, r.system, r.options.starts, len(pipes()), r.options.rest, r.options.slice, r.options.rounds,
		r.begun.UTC().Format(time.DateOnly), r.system, runtime.GOARCH, runtime.NumCPU(), r.options.load, runtime.Version(), grpc.Version, r.took.Round(time.Second))
	if r.busy() {
		b.WriteString("**The machine had more to do than it has processors: the times of this run say little, sizes and memory hold.**\n\n")
	}
	r.targets(&b)
	b.WriteString("\n## Start\n\n" + r.startTable())
	b.WriteString(r.options.also)
	r.memoryTable(&b)
	for _, s := range r.starts {
		r.latencyTable(&b, s)
	}
	return b.String()
}

// busy tells whether the load, of which the average over the last minute comes first, was more than the processors.
func (r *results) busy() bool {
	first, _, _ := strings.Cut(r.options.load, " ")
	load, err := strconv.ParseFloat(first, 64)
	return err == nil && load > float64(runtime.NumCPU())
}

// targets are about the agent on the machine itself.
func (r *results) targets(b *strings.Builder) {
	b.WriteString("## Targets\n\n| for the agent with -host=windows | target | here | |\n|---|--:|--:|---|\n")
	verdict := func(ok bool) string {
		if ok {
			return "holds"
		}
		return "**fails**"
	}
	agent := r.starts[agentHere]
	fmt.Fprintf(b, "| size of csi-proxy.exe | ≤ %.0f MB | %.1f MB | %s |\n", mostBytes/megabyte, float64(r.bytes)/megabyte, verdict(float64(r.bytes) <= mostBytes))
	fmt.Fprintf(b, "| from CreateProcess to the last pipe, median | ≤ %v | %s | %s |\n", mostOpen, millis(agent.said.median()), verdict(agent.said.median() <= mostOpen))
	fmt.Fprintf(b, "| idle working set | ≤ %d MiB | %s | %s |\n", mostMemory/mebibyte, mebibytes(agent.idle.workingSet), verdict(agent.idle.workingSet <= mostMemory))
	if strings.HasPrefix(r.system, "Wine") {
		b.WriteString(`
Under Wine a thread costs 0.94 MiB, as Wine clears that much of each new stack, and of a program's file 64 KiB count with each
page that is used.
`)
	}
}

// startTable is one for the page, and all that -starts-only writes.
func (r *results) startTable() string {
	var b strings.Builder
	b.WriteString("| | first line, fastest | median | exit, fastest | median |\n|---|--:|--:|--:|--:|\n")
	for _, s := range r.starts {
		fmt.Fprintf(&b, "| %s |", s.name)
		for _, series := range []series{s.said, s.exited} {
			if len(series) == 0 {
				b.WriteString(" | |")
				continue
			}
			fmt.Fprintf(&b, " %s | %s |", millis(series.min()), millis(series.median()))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (r *results) memoryTable(b *strings.Builder) {
	b.WriteString("\n## Memory\n\n| | working set, idle | private | calls then made | working set after them | private |\n|---|--:|--:|--:|--:|--:|\n")
	for _, s := range r.starts {
		if s.idle == (memory{}) {
			continue // it does not live that long
		}
		fmt.Fprintf(b, "| %s | %s | %s |", s.name, mebibytes(s.idle.workingSet), private(s.idle))
		if s.calls == 0 {
			b.WriteString(" | | |\n")
			continue
		}
		fmt.Fprintf(b, " %d | %s | %s |\n", s.calls, mebibytes(s.used.workingSet), private(s.used))
	}
}

// private is what a process has for itself, which Wine does not count.
func private(m memory) string {
	if m.private == 0 {
		return "not told"
	}
	return mebibytes(m.private)
}

func (r *results) latencyTable(b *strings.Builder, s starts) {
	if len(s.readings) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Reads, %s\n\n| | median ÷ echo | echo, median | median | p99 |\n|---|--:|--:|--:|--:|\n", s.name)
	for _, reading := range s.readings {
		if reading.failure != "" {
			fmt.Fprintf(b, "| %s | %s has no answer to it (%s) | | | |\n", reading.name, r.system, reading.failure)
			continue
		}
		fmt.Fprintf(b, "| %s | %.2f | %s | %s | %s |\n", reading.name, quantile(reading.ratios, .5),
			micros(reading.echo.median()), micros(reading.latencies.median()), micros(reading.latencies.p99()))
	}
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1e3) }

func micros(d time.Duration) string { return fmt.Sprintf("%d µs", d.Microseconds()) }

func mebibytes(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/mebibyte) }
