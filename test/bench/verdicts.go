// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// The targets.
const (
	mostToEcho  = 1.4  // median of a read of one kernel call to the echo's
	leastRate   = 0.85 // of the echo's calls a second, for 64 callers
	mostOfEqual = 1.1  // of two medians that should be the same, which leaves some room for noise
)

// A verdict says how far one target holds.
type verdict struct {
	target       string
	holds, fails []string // what was measured, with its figure
}

func (v *verdict) take(holds bool, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if holds {
		v.holds = append(v.holds, text)
	} else {
		v.fails = append(v.fails, text)
	}
}

// verdicts is the table of the targets.
func (r *results) verdicts(b *strings.Builder) {
	b.WriteString("## Targets\n\n| target | holds for | fails for |\n|---|---|---|\n")
	for _, v := range r.judge() {
		fmt.Fprintf(b, "| %s | %s | %s |\n", v.target, listed(v.holds), listed(v.fails))
	}
	b.WriteString("\n")
}

// listed names up to eight and counts the rest.
func listed(names []string) string {
	const most = 8
	switch n := len(names); {
	case n == 0:
		return "none"
	case n > most:
		return fmt.Sprintf("%d, among them %s", n, strings.Join(names[:most], ", "))
	default:
		return strings.Join(names, ", ")
	}
}

func (r *results) judge() []verdict {
	latency := verdict{target: fmt.Sprintf("a read of one kernel call: median ≤ %.2f of the echo's, one caller", mostToEcho)}
	rate := verdict{target: fmt.Sprintf("a read of one kernel call, 64 callers: ≥ %.2f of the echo's calls a second", leastRate)}
	growth := verdict{target: fmt.Sprintf("a read about one disk, volume or path: the same kernel calls with %d disks as with %d, and ≤ %.2f of the median", r.options.many, r.options.few, mostOfEqual)}
	routed := verdict{target: fmt.Sprintf("an old version's method: ≤ %.2f of its hub's median, one caller", mostOfEqual)}
	for _, read := range r.reads {
		for _, s := range read.shapes {
			if read.kernel[0] != 1 || read.all {
				break
			}
			if s.callers == 1 {
				latency.take(s.toEcho.median <= mostToEcho, "%s %.2f", read.method, s.toEcho.median)
			}
			if s.callers == 64 {
				rate.take(s.toEcho.rate >= leastRate, "%s, %s, %.2f", read.method, map[bool]string{true: "own connections", false: "one connection"}[s.own], s.toEcho.rate)
			}
		}
		one := read.shapes[0]
		if !read.all {
			growth.take(read.kernel[0] == read.kernel[1] && read.growth.median <= mostOfEqual, "%s %.2f", read.method, read.growth.median)
		}
		for i, route := range read.routes {
			routed.take(one.routes[i].median <= mostOfEqual, "%s %s %s %.2f", read.group, route.version, route.method, one.routes[i].median)
		}
	}
	return []verdict{latency, rate, growth, routed}
}
