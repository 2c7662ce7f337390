// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"os"
	"runtime"
	"strings"
	"text/template"
	"time"

	"golang.org/x/perf/benchmath"
	"google.golang.org/grpc"
)

// The goals. Those of reads stop at what somebody can feel: a volume's life has some twenty calls, and nobody feels a
// call that takes a millisecond longer.
const (
	mostMegabytes = 16.  // of the released csi-proxy.exe
	mostStart     = 1.6  // times the empty program's
	mostIdle      = 14.  // MiB above the empty program
	mostAfterLoad = 22.  // MiB above the empty program, a minute after the calls
	mostMemory    = 256. // MiB, the chart's limit
	mostOne       = 1.4  // times the echo, one caller
	mostMany      = 1.18 // times the echo, many callers: 0.85 of its calls a second
	felt          = 1.   // ms
)

// A report is the content of a page.
type report struct {
	Windows   bool
	System    string
	Begun     time.Time
	Took      time.Duration
	Load      string
	Megabytes float64 // of the agent's binary
	Starts    []startRow
	Loads     []loadRow
	Hosts     []host
	Fleet     fleetRow
	Sides     []side
	Direct    []sideCall
	Scale     scaleRow
}

// A host is the results of one agent's calls.
type host struct {
	Name  string
	Reads []readRow
	Life  figure // of a volume
}

// begin records the machine and the time.
func begin() report {
	r := report{Windows: runtime.GOOS == "windows", System: system(), Begun: time.Now(), Load: "unknown"}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		r.Load, _, _ = strings.Cut(string(text), " ")
	}
	return r
}

//go:embed page.md.tmpl
var pageText string

// page returns the document for this system.
func (b *bench) page() (string, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"list": listed, "ms": func(f figure) string { return f.text(millis) },
		"MiB":       func(f figure) string { return f.text(mib) },
		"ratioSpan": func(f, other figure) string { return between(f.over(other).span(), times) },
		"allSpan":   func(f figure) string { return between(f.span(), millis) },
		"ratio":     func(f figure) string { return f.text(times) },
		"over":      func(f, other figure) string { return f.over(other).text(times) },
		"minus":     func(f, other figure) string { return f.minus(other).text(mib) },
		"all":       func(f figure, n int) string { return f.times(float64(n) / 1e3).text(seconds) },
		"span":      func(f figure) string { return between(f.span(), mib) },
		"whole": func(f figure) string {
			return between(f.span(), func(v float64) string { return fmt.Sprintf("%.0f", v) })
		},
	}).Parse(pageText)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	part := "page"
	if b.sideOnly {
		part = "side"
	}
	data := map[string]any{
		"Report": b.report, "Options": b.options, "Arch": runtime.GOARCH, "CPUs": runtime.NumCPU(),
		"Go": runtime.Version(), "GRPC": grpc.Version, "Callers": callers, "Loads": loads,
		"Tests": suiteTests, "Later": b.Minute / 3,
		"Pods": podsAtOnce, "StatCallers": statCallers,
		"Confidence": confidence * 100, "Precision": precision * 100 / 2,
	}
	if !b.sideOnly {
		data["Goals"] = b.goals()
	}
	err = t.ExecuteTemplate(&text, part, data)
	return text.String(), err
}

func listed(names []string) string {
	if len(names) == 0 {
		return "–"
	}
	return strings.Join(names, "; ")
}

// goals judges the results.
func (r *report) goals() []goal {
	if r.Windows {
		return r.windowsGoals()
	}
	one := goal{Text: fmt.Sprintf("a read of one kernel call, one caller: ≤ %.2f × the echo, or "+
		"%.0f ms more", mostOne, felt)}
	many := goal{Text: fmt.Sprintf("the same, %d callers: ≥ %.2f of the echo's calls a second, or %.0f ms more a call",
		callers, 1/mostMany, felt)}
	same := goal{Text: "a read about one disk, volume or path: as many kernel calls with many disks as with two"}
	few, larger := r.Hosts[0].Reads, r.Hosts[1].Reads
	for i, row := range few {
		if row.Failure != "" || row.All {
			continue
		}
		same.judge(row.Name, exactly(float64(larger[i].Kernel)), float64(row.Kernel),
			func(v float64) string { return fmt.Sprintf("%.0f", v) })
		if row.Kernel == 1 {
			one.judge(row.Name, row.One.over(row.EchoOne).summary(), max(mostOne, 1+felt/row.EchoOne.summary().Center), times)
			many.judge(row.Name, row.Many.over(row.EchoMany).summary(),
				max(mostMany, 1+felt/callers/row.EchoMany.summary().Center), times)
		}
	}
	return append([]goal{one, many, same, r.scaleGoal()}, r.fleetGoals()...)
}

func exactly(v float64) benchmath.Summary { return figure{v}.span() }

// windowsGoals judges the agent on the machine itself, the first after the empty program.
func (r *report) windowsGoals() []goal {
	empty, agent, load := r.Starts[0], r.Starts[1], r.Loads[0]
	size := goal{Text: fmt.Sprintf("size of csi-proxy.exe: ≤ %.0f MB", mostMegabytes)}
	size.judge("", exactly(r.Megabytes), mostMegabytes, func(v float64) string { return fmt.Sprintf("%.1f MB", v) })
	took := goal{Text: fmt.Sprintf("start: ≤ %.1f × the empty program's", mostStart)}
	took.judge("", agent.Took.over(empty.Took).summary(), mostStart, times)
	idle := goal{Text: fmt.Sprintf("started and idle: ≤ %.0f MiB above the empty program", mostIdle)}
	idle.judge("", agent.Idle.minus(empty.Idle).summary(), mostIdle, mib)
	later := load.After[len(load.After)-1].span()
	base := empty.Idle.summary().Center
	after := goal{Text: fmt.Sprintf("a minute after the calls: ≤ %.0f MiB above the empty program", mostAfterLoad)}
	after.judge("", benchmath.Summary{Lo: later.Lo - base, Hi: later.Hi - base}, mostAfterLoad, mib)
	peak := goal{Text: fmt.Sprintf("ever: ≤ %.0f MiB, the chart's limit", mostMemory)}
	peak.judge("", load.Peak.span(), mostMemory, mib)
	return []goal{size, took, idle, after, peak}
}
