// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
)

// markdown is the report.
func (r *results) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Performance

What the agent adds to a gRPC call, measured by `+"`go run ./test/bench -o docs/performance.md`"+`, which wrote this page. Its size,
start, memory and latency as a Windows program are in [performance-windows.md](performance-windows.md).

The agent is the real csi-proxy with every interceptor on, on emulated nodes with %d and with %d data disks besides the
system disk, each partitioned and formatted. *Echo* is a gRPC server of the same library version without options or
interceptors that sends back what it gets, with messages of the same size.
All are processes of their own behind unix sockets, and one client process calls them in turns of %v, %d rounds
of them, so that what else the machine does falls on all of them. A ratio of medians or of rates is the median over the
rounds of the ratio within a round; a ratio of 99th percentiles is over all rounds. Unless a table says otherwise there
are %d data disks. Calls that are so slow that the rounds of one table cell take more than %v get fewer rounds.

The ratios carry over to other machines; the microseconds do not, and say nothing about a Windows node, where the kernel
calls themselves take most of the time. That is why the tables count them.

| | |
|---|---|
| date | %s |
| machine | %s/%s, %d cores |
| load when the run began | %s |
| Go, gRPC | %s, %s |
| the run took | %v |

`, r.options.few, r.options.many, r.options.slice, r.options.rounds, r.options.few, enough,
		r.begun.UTC().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), r.load, runtime.Version(), grpc.Version, r.took.Round(time.Second))
	r.verdicts(&b)
	r.hubTable(&b)
	r.shapeTable(&b)
	r.routeTable(&b)
	r.lifeTables(&b)
	return b.String()
}

// hubTable is one line for each read of a hub, for one caller.
func (r *results) hubTable(b *strings.Builder) {
	fmt.Fprintf(b, `## Reads, one caller

Ratios to the echo, the ratio of the larger node to the smaller one, kernel calls, and the latencies behind them.

| method of the hub | median ÷ echo | p99 ÷ echo | with %[1]d disks, median ÷ echo | %[1]d ÷ %[2]d disks | kernel calls, %[2]d disks | %[1]d disks | echo, median | median | p99 |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
`, r.options.many, r.options.few)
	for _, read := range r.reads {
		s := read.shapes[0]
		fmt.Fprintf(b, "| %s | %.2f | %.2f | %.2f | %.2f | %d | %d | %s | %s | %s |\n", read.key(), s.toEcho.median, s.toEcho.p99, read.larger.median, read.growth.median,
			read.kernel[0], read.kernel[1], micros(s.echo.median()), micros(s.hub.median()), micros(s.hub.p99()))
	}
}

// shapeTable is one column for each shape.
func (r *results) shapeTable(b *strings.Builder) {
	b.WriteString(`
## Reads, many callers

Each cell: median ÷ echo, p99 ÷ echo, calls a second ÷ echo, for the same callers on the same kind of connections.

| method of the hub |`)
	for _, s := range r.options.shapes() {
		fmt.Fprintf(b, " %s |", s)
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(r.options.shapes())) + "\n")
	for _, read := range r.reads {
		fmt.Fprintf(b, "| %s |", read.key())
		for _, s := range read.shapes {
			fmt.Fprintf(b, " %.2f, %.2f, %.2f |", s.toEcho.median, s.toEcho.p99, s.toEcho.rate)
		}
		b.WriteString("\n")
	}
	b.WriteString("\nThe latencies and rates of the echo and of one read:\n\n| |")
	for _, s := range r.options.shapes() {
		fmt.Fprintf(b, " %s |", s)
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(r.options.shapes())) + "\n")
	read := r.reads[slices.IndexFunc(r.reads, func(read readResult) bool { return read.method == "GetVolumeStats" })]
	r.latencies(b, "echo", read.shapes, func(s *shapeResult) *series { return &s.echo })
	r.latencies(b, read.key(), read.shapes, func(s *shapeResult) *series { return &s.hub })
}

func (r *results) latencies(b *strings.Builder, name string, shapes []shapeResult, of func(*shapeResult) *series) {
	fmt.Fprintf(b, "| %s |", name)
	for i := range shapes {
		s := of(&shapes[i])
		fmt.Fprintf(b, " %s, p99 %s, %.0f/s |", micros(s.median()), micros(s.p99()), quantile(s.rates, .5))
	}
	b.WriteString("\n")
}

// routeTable is one line for each old version's method.
func (r *results) routeTable(b *strings.Builder) {
	b.WriteString(`
## Old versions

Ratios to the method of the hub that the old method leads to, called in the same rounds; for each shape the median, and
for the first the p99 too.

| old method | leads to | how | p99, 1 caller |`)
	for _, s := range r.options.shapes() {
		fmt.Fprintf(b, " %s |", s)
	}
	b.WriteString("\n|---|---|---|" + strings.Repeat("--:|", len(r.options.shapes())+1) + "\n")
	for _, read := range r.reads {
		for i, route := range read.routes {
			fmt.Fprintf(b, "| %s %s %s | %s | %s | %.2f |", read.group, route.version, route.method, read.method, route.kind, read.shapes[0].routes[i].p99)
			for _, s := range read.shapes {
				fmt.Fprintf(b, " %.2f |", s.routes[i].median)
			}
			b.WriteString("\n")
		}
	}
}

func micros(d time.Duration) string {
	if d >= 10*time.Millisecond {
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.0f µs", float64(d)/1e3)
}
