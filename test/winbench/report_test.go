// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"
)

func measured(change func(*results)) *results {
	ms := time.Millisecond
	r := &results{
		options: options{starts: 3, rounds: 2, rest: time.Second, slice: ms, load: "0.5", also: "\nOn the other side of the room: 41 ms.\n"},
		system:  "Wine 10.0", bytes: 15_000_000,
		starts: []starts{
			{name: "empty Go program", said: series{20 * ms}, exited: series{30 * ms}, idle: memory{workingSet: 13 << 20}},
			{name: "csi-proxy version", exited: series{35 * ms}},
			{
				name: "agent, -host=windows", said: series{50 * ms, 30 * ms, 39 * ms},
				idle: memory{25 << 20, 9 << 20}, used: memory{workingSet: 27 << 20}, calls: 12,
				readings: []reading{
					{name: "disk ListDiskIDs", failure: "Internal"},
					{name: "system GetService", latencies: series{3 * ms, 2 * ms}, echo: series{ms}, ratios: []float64{2, 3, 1.5}},
				},
			},
		},
	}
	if change != nil {
		change(r)
	}
	return r
}

func TestPage(t *testing.T) {
	page := measured(nil).page()
	for _, want := range []string{
		"| size of csi-proxy.exe | ≤ 16 MB | 15.0 MB | holds |",
		"| from CreateProcess to the last pipe, median | ≤ 40ms | 39.0 ms | holds |",
		"| idle working set | ≤ 26 MiB | 25.0 MiB | holds |",
		"| empty Go program | 20.0 ms | 20.0 ms | 30.0 ms | 30.0 ms |",
		"| agent, -host=windows | 30.0 ms | 39.0 ms | | |",
		"\nOn the other side of the room: 41 ms.\n",
		"| agent, -host=windows | 25.0 MiB | 9.0 MiB | 12 | 27.0 MiB | not told |",
		"| disk ListDiskIDs | Wine 10.0 has no answer to it (Internal) | | | |",
		"| system GetService | 2.00 | 1000 µs | 3000 µs | 3000 µs |",
	} {
		if !strings.Contains(page, want+"\n") && !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "**fails**") {
		t.Errorf("targets that hold are said to fail:\n%s", page)
	}
}

func TestMissedTargetsAreSaid(t *testing.T) {
	for name, change := range map[string]func(*results){
		"size":        func(r *results) { r.bytes = 16_000_001 },
		"last pipe":   func(r *results) { r.starts[agentHere].said = series{41 * time.Millisecond} },
		"working set": func(r *results) { r.starts[agentHere].idle.workingSet = 26<<20 + 1 },
	} {
		page := measured(change).page()
		if strings.Count(page, "**fails**") != 1 {
			t.Errorf("%s: %d targets fail, want one:\n%s", name, strings.Count(page, "**fails**"), page)
		}
	}
}

func TestABusyMachineIsSaid(t *testing.T) {
	const sentence = "**The machine had more to do"
	for load, want := range map[string]bool{"0.01 over the last minute": false, "100000 over the last minute": true, "unknown": false} {
		page := measured(func(r *results) { r.options.load = load }).page()
		if got := strings.Contains(page, sentence); got != want {
			t.Errorf("load %s: the page says so: %t, want %t", load, got, want)
		}
	}
}

func TestQuantile(t *testing.T) {
	hundred := make(series, 100)
	for i := range hundred {
		hundred[len(hundred)-1-i] = time.Duration(i)
	}
	if hundred.min() != 0 || hundred.median() != 50 || hundred.p99() != 99 {
		t.Errorf("got %d, %d, %d", hundred.min(), hundred.median(), hundred.p99())
	}
	if got := series(nil).median(); got != 0 {
		t.Errorf("nothing has the median %v", got)
	}
}

// The pipes are those that the agent says it is ready with.
func TestPipes(t *testing.T) {
	names := map[string]bool{}
	for _, name := range pipes() {
		names[name] = true
	}
	if len(names) != 23 || !names[`\\.\pipe\csi-proxy-disk-v1`] || !names[`\\.\pipe\csi-proxy-volume-v1alpha1`] {
		t.Errorf("got %v", names)
	}
}
