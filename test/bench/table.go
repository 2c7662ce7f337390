// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// table returns the results, an agent a column. A cell is the median of the rounds with the least and greatest value.
func table(agents []program, results []figures, later time.Duration) string {
	var b strings.Builder
	b.WriteString("| | echo |")
	for _, a := range agents {
		fmt.Fprintf(&b, " %s |", a.name)
	}
	compared := len(agents) > 1
	if compared {
		fmt.Fprintf(&b, " %s ÷ %s |", agents[0].name, agents[1].name)
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", strings.Count(b.String(), "|")-2) + "\n")
	for _, row := range []struct {
		name, form string
		of, echo   func(figure) float64
	}{
		{"start until every endpoint takes connections, ms", "%.1f",
			func(f figure) float64 { return f.start }, func(f figure) float64 { return f.echoStart }},
		{"memory, idle, MiB", "%.1f",
			func(f figure) float64 { return f.idle }, func(f figure) float64 { return f.echoIdle }},
		{"PathExists, one caller: time ÷ echo's", "%.2f", func(f figure) float64 { return f.oneCaller }, nil},
		{fmt.Sprintf("%d callers, one connection: rate ÷ echo's", callers), "%.2f",
			func(f figure) float64 { return f.sharedConnection }, nil},
		{fmt.Sprintf("%d callers, a connection each: rate ÷ echo's", callers), "%.2f",
			func(f figure) float64 { return f.ownConnection }, nil},
		{"memory after these calls, MiB", "%.1f",
			func(f figure) float64 { return f.loaded }, func(f figure) float64 { return f.echoLoaded }},
		{fmt.Sprintf("memory %v later, MiB", later), "%.1f", func(f figure) float64 { return f.later }, nil},
	} {
		fmt.Fprintf(&b, "| %s |", row.name)
		if row.echo != nil {
			b.WriteString(" " + cell(results[0].each(row.echo), row.form))
		}
		b.WriteString(" |")
		for _, r := range results {
			fmt.Fprintf(&b, " %s |", cell(r.each(row.of), row.form))
		}
		if compared {
			ratios := results[0].each(row.of)
			for i, other := range results[1].each(row.of) { // of the same round
				ratios[i] /= other
			}
			fmt.Fprintf(&b, " %s |", cell(ratios, "%.2f"))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// each returns one quantity of every round.
func (all figures) each(of func(figure) float64) (values []float64) {
	for _, f := range all {
		values = append(values, of(f))
	}
	return values
}

// cell returns the median with the least and the greatest value.
func cell(values []float64, form string) string {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return ""
	}
	median := (sorted[(n-1)/2] + sorted[n/2]) / 2
	return fmt.Sprintf(form+" ("+form+" to "+form+")", median, sorted[0], sorted[n-1])
}
