// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

// TestMain lets the test's binary be the echo or the fleet, as the program itself can be.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && (os.Args[1] == "echo" || os.Args[1] == "fleet") {
		if err := run(context.Background(), os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestEverythingIsMeasured runs the program briefly. The figures themselves are not tested.
func TestEverythingIsMeasured(t *testing.T) {
	if !testnode.Long() || runtime.GOOS == "windows" {
		t.Skip("make test-long runs it: it builds and starts agents, and on Windows two of them cannot serve the same " +
			"pipes at once")
	}
	b := &bench{options: options{Rounds: 1, Slice: time.Millisecond, Rest: time.Millisecond, Minute: time.Millisecond,
		Calls: 100, Disks: []uint32{1, 3}, Nodes: 2}, report: begin(), dir: shortDir(t)}
	if err := b.measure(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := b.page()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| empty Go program |", "| volume GetVolumeStats | 1 |",
		"| agent, emulated node with 3 disks |", "filesystem IsSymlink 9", "| 200 tests | ", "| 64 stages ÷ one | ",
		"| endpoints | | 24 |", "\n| open files; then | | ", "GetVolumeStats of 4 volumes"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

// around returns a figure whose interval goes from low to high.
func around(low, high float64) (f figure) {
	for range leastRounds / 2 {
		f = append(f, low, high)
	}
	return f
}

func TestNoiseDecidesNothing(t *testing.T) {
	for _, test := range []struct {
		name string
		f    figure
		want goal
		text string
	}{
		{"below", around(1.2, 1.3), goal{Met: []string{"it 1.20 to 1.30"}}, "1.25 (1.20 to 1.30)"},
		{"at the goal", around(1.4, 1.4), goal{Met: []string{"it 1.40"}}, "1.40 (1.40)"},
		{"around it", around(1.35, 1.45), goal{Undecided: []string{"it 1.35 to 1.45"}}, "1.40 (1.35 to 1.45)"},
		{"scatter", around(.5, 3), goal{Undecided: []string{"it 0.50 to 3.00"}}, "noise: 0.50 to 3.00"},
		{"above", around(1.5, 3), goal{Missed: []string{"it 1.50 to 3.00"}}, "noise: 1.50 to 3.00"},
		{"too few", around(1.2, 1.3)[4:], goal{Undecided: []string{"it -Inf to +Inf"}}, "noise: -Inf to +Inf"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got goal
			got.judge("it", test.f.summary(), 1.4, times)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := test.f.text(times); got != test.text {
				t.Errorf("got %q, want %q", got, test.text)
			}
		})
	}
}

// The machine gets ten times slower half way: no ratio changes.
func TestDriftCancels(t *testing.T) {
	slow := figure{1, 1, 1, 1, 10, 10, 10, 10}
	one, other := slices.Clone(slow), slices.Clone(slow)
	for i := range slow {
		one[i], other[i] = 3*slow[i], 2*slow[i]
	}
	if got := one.over(other).text(times); got != "1.50 (1.50)" {
		t.Errorf("got %s", got)
	}
}

func TestRepeat(t *testing.T) {
	for _, test := range []struct {
		name      string
		low, high float64
		want      int
	}{{"narrow", 1, 1.05, leastRounds}, {"never narrow", 1, 2, 20}} {
		var f figure
		err := repeat(20, func(n int) error {
			f = append(f, []float64{test.low, test.high}[n%2])
			return nil
		}, func() []figure { return []figure{f} })
		if err != nil || len(f) != test.want {
			t.Errorf("%s: got %d rounds and %v, want %d", test.name, len(f), err, test.want)
		}
	}
	broken := errors.New("broken")
	if err := repeat(20, func(int) error { return broken }, nil); !errors.Is(err, broken) {
		t.Errorf("got %v, want the round's error", err)
	}
}

func TestWindowsPage(t *testing.T) {
	b := &bench{options: options{Rest: 3 * time.Second, Minute: time.Minute}, report: report{
		Windows: true, System: "Wine 10.0", Begun: time.Now(), Megabytes: 15.8,
		Starts: []startRow{
			{"empty Go program", around(20, 21), around(13, 13)},
			{"agent, -host=windows", around(30, 36), around(26, 26.2)},
			{"upstream", nil, around(22, 22)},
		},
		Sides: []side{
			{
				Name: "agent, -host=windows", Endpoints: 23, Start: around(120, 124), Empty: around(100, 100), Idle: around(26, 26),
				Calls: []sideCall{
					{Name: "GetService ÷ echo", Most: 3, Call: around(6, 6), Echo: around(3, 3)},
					{Name: "PathExists, own connections ÷ echo's rate", Least: .98, Call: around(2, 2), Echo: around(1, 1)},
				},
				Loaded: figure{40, 44, 42}, Later: figure{34, 36, 35}, Threads: figure{20, 21, 22}, ThreadsLater: figure{9, 9, 9},
				Handles: figure{190, 190, 190}, HandlesEnd: figure{90, 91, 92},
			},
			{
				Name: "upstream", Endpoints: 22, Start: around(300, 900), Empty: around(100, 100), Idle: around(44, 44),
				Calls: []sideCall{{Name: "GetService ÷ echo", Failure: "Unknown", Call: around(150, 150), Echo: around(3, 3)},
					{Failure: "Unavailable"}},
				Loaded: figure{84, 84, 84}, Later: figure{84, 84, 84}, Threads: figure{9, 9, 9}, ThreadsLater: figure{9, 9, 9},
				Handles: figure{200, 200, 200}, HandlesEnd: figure{200, 200, 200},
			},
		},
		Direct: []sideCall{{Name: "GetService", Call: around(5, 5), Echo: around(2, 2)}},
		Loads: []loadRow{{"agent, -host=windows", figure{90, 80, 85},
			[]figure{{80, 80, 80}, {50, 50, 50}, {40, 40, 40}, {34, 36, 35}}}},
		Hosts: []host{{"agent, -host=windows", []readRow{
			{Name: "disk ListDiskIDs", Failure: "Internal"},
			{Name: "system GetService", One: around(3, 3), EchoOne: around(2, 2), Many: around(.3, .9),
				EchoMany: around(.2, .2)},
		}, nil}},
	}}
	page, err := b.page()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# Performance as a Windows program\n",
		"| size of csi-proxy.exe: ≤ 16 MB | 15.8 MB | – | – |\n",
		"| start: ≤ 1.6 × the empty program's | – | 1.50 to 1.71 | – |\n",
		"| started and idle: ≤ 14 MiB above the empty program | 13.0 MiB to 13.2 MiB | – | – |\n",
		"| a minute after the calls: ≤ 22 MiB above the empty program | – | 21.0 MiB to 23.0 MiB | – |\n",
		"| ever: ≤ 256 MiB, the chart's limit | 80.0 MiB to 90.0 MiB | – | – |\n",
		"| upstream |  |  | 22.0 MiB (22.0 MiB) | 9.0 MiB (9.0 MiB) |\n",
		"| | highest ever | 0s later | 10s later | 30s later | 1m0s later |\n",
		"Under Wine a thread costs",
		"| start until it serves ÷ an empty program's start and exit | | 1.22 (1.20 to 1.24) | noise: 3.00 to 9.00 |\n",
		"| GetService ÷ echo | ≤ 3.00 | 2.00 (2.00) | fails with Unknown: 50.00 (50.00) |\n",
		"| PathExists, own connections ÷ echo's rate | ≥ 0.98 | 0.50 (0.50) | fails with Unavailable |\n",
		"| 20s later | ≤ 35 MiB | 34.0 MiB to 36.0 MiB | 84.0 MiB |\n",
		// Wine does not count handles
		"| threads; then | | 20 to 22; 9 | 9; 9 |\n\nThe same calls in the process of their caller",
		"| GetService | 2.50 (2.50) |\n",
		"| disk ListDiskIDs | fails here with Internal | | | |\n",
		"| system GetService | 1.50 (1.50) | 3 ms (3 ms) | noise: 1.50 to 4.50 | noise: 300 µs to 900 µs |\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

func TestMemoryLimitIsTheCharts(t *testing.T) {
	values, err := os.ReadFile("../../charts/csi-proxy/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("\n  limits: {memory: %.0fMi}\n", mostMemory); !strings.Contains(string(values), want) {
		t.Errorf("the chart has not got %q", want)
	}
}

// BenchmarkTest measures a driver's test: a node's start, a volume's life, and the node's end.
func BenchmarkTest(b *testing.B) {
	dir := shortDir(b)
	for b.Loop() {
		if _, err := oneTest(b.Context(), filepath.Join(dir, "t")); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFleet measures a process with many nodes.
func BenchmarkFleet(b *testing.B) {
	for b.Loop() {
		start, memory, err := oneFleet(b.Context(), options{Rest: time.Second, Nodes: 50}, filepath.Join(shortDir(b), "f"))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(start, "ms/node")
		b.ReportMetric(memory, "MiB/node")
	}
}

// shortDir makes a directory whose path is short enough for sockets.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bench") //nolint:usetesting // its path is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// BenchmarkRead measures one read with client and agent in this process, for profiles and allocations.
func BenchmarkRead(b *testing.B) {
	n := csiproxytest.Start(b, csiproxytest.Options{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := n.Disk.GetDiskStats(b.Context(), &disk.GetDiskStatsRequest{DiskNumber: 1}); err != nil {
			b.Fatal(err)
		}
	}
}
