// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain lets the test's binary be the echo server, as the program is.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "echo" {
		if err := serveEcho(os.Args[2], os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestEverythingIsMeasured runs the program on small nodes for a moment. What the figures are is nothing to test.
func TestEverythingIsMeasured(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it measures through Unix sockets; and two agents of the program cannot serve the same pipes at once")
	}
	if testing.Short() {
		t.Skip("it builds and starts agents")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := brief()
	o.echo = []string{self, "echo"}
	r, err := measure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.reads) < 12 || len(r.lives) != 4 {
		t.Errorf("got %d reads and %d times of lives, want at least 12 and 4", len(r.reads), len(r.lives))
	}
	old := 0
	for _, read := range r.reads {
		old += len(read.routes)
		if read.kernel[0] < 1 {
			t.Errorf("%s: got %d kernel calls", read.key(), read.kernel[0])
		}
		if !read.all && read.kernel[0] > read.kernel[1] {
			t.Errorf("%s: got %d kernel calls on the smaller node and %d on the larger one", read.key(), read.kernel[0], read.kernel[1])
		}
		for _, s := range read.shapes {
			if want := o.rounds * s.callers; len(s.echo.latencies) < want || len(s.hub.latencies) < want {
				t.Errorf("%s, %s: got too few calls, want at least %d of each", read.key(), s, want)
			}
		}
	}
	if old < 43 {
		t.Errorf("got %d methods of old versions, want at least 43", old)
	}
	report := r.markdown()
	for _, want := range []string{"## Targets", "| volume GetVolumeStats |", "| disk v1alpha1 GetDiskNumberByName | ListDiskIDs | alone |", "| disk PartitionDisk |"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report has not got %q", want)
		}
	}
}

func TestQuantile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for _, test := range []struct {
		name   string
		values []float64
		q      float64
		want   float64
	}{
		{"none", nil, .5, 0},
		{"one", []float64{7}, .99, 7},
		{"the middle of three", []float64{3, 1, 2}, .5, 2},
		{"the lower middle of four", []float64{4, 3, 2, 1}, .5, 2},
		{"99th of a hundred", hundred, .99, 99},
		{"the largest", hundred, 1, 100},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := quantile(test.values, test.q); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestNoiseCancels compares two subjects whose machine gets ten times slower half way.
func TestNoiseCancels(t *testing.T) {
	var one, other series
	for _, slowness := range []time.Duration{1, 1, 10, 10, 10} {
		one.add(taken{[]time.Duration{3 * slowness, 3 * slowness}, 6 * slowness})
		other.add(taken{[]time.Duration{2 * slowness, 2 * slowness, 2 * slowness}, 6 * slowness})
	}
	got := one.to(&other)
	got.rate = math.Round(got.rate*100) / 100
	if diff := cmp.Diff(comparison{1.5, 1.5, .67}, got, cmp.AllowUnexported(comparison{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestVerdicts(t *testing.T) {
	equal := make([]shapeResult, 0, len(standard().shapes()))
	for _, s := range standard().shapes() {
		equal = append(equal, shapeResult{shape: s, toEcho: comparison{1.2, 1.2, .9}})
	}
	slow := make([]shapeResult, 0, len(standard().shapes()))
	for _, s := range standard().shapes() {
		slow = append(slow, shapeResult{shape: s, toEcho: comparison{1.5, 1.5, .5}})
	}
	r := &results{options: standard(), reads: []readResult{
		{read: read{method: "Good"}, kernel: [2]int{1, 1}, growth: comparison{1, 1, 1}, shapes: equal},
		{read: read{method: "Slow"}, kernel: [2]int{1, 1}, growth: comparison{6, 6, .2}, shapes: slow},
		{read: read{method: "MoreCalls"}, kernel: [2]int{2, 9}, growth: comparison{1, 1, 1}, shapes: equal},
		{read: read{method: "All", all: true}, kernel: [2]int{2, 500}, growth: comparison{6, 6, .2}, shapes: slow},
	}}
	var got []string
	for _, v := range r.judge() {
		got = append(got, fmt.Sprint(v.holds, v.fails))
	}
	want := []string{
		"[Good 1.20] [Slow 1.50]",
		"[Good, one connection, 0.90 Good, own connections, 0.90] [Slow, one connection, 0.50 Slow, own connections, 0.50]",
		"[Good 1.00] [Slow 6.00 MoreCalls 1.00]",
		"[] []",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestOldMessages sees to it that each old version is asked about the same disk or volume as its hub.
func TestOldMessages(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program makes its calls through Unix sockets, and an agent has none there")
	}
	n, err := prepare(t.Context(), filepath.Join(shortDir(t), "n"), 1)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, read := range reads(n) {
		routes, err := read.routes(n)
		if err != nil {
			t.Fatal(err)
		}
		for _, route := range routes {
			got[read.group+" "+route.version+" "+route.method] = fmt.Sprintf("%T", route.request) // its content is the mapping's, which has tests
		}
	}
	for _, want := range [][2]string{
		{"disk v1beta2 DiskStats", "*v1beta2.DiskStatsRequest"}, {"disk v1beta3 GetDiskStats", "*v1.GetDiskStatsRequest"},
		{"disk v1alpha1 GetDiskNumberByName", "*v1alpha1.GetDiskNumberByNameRequest"}, {"filesystem v1alpha1 IsMountPoint", "*v1beta1.IsMountPointRequest"},
	} {
		if got[want[0]] != want[1] {
			t.Errorf("%s: got %q, want %q", want[0], got[want[0]], want[1])
		}
	}
}

// shortDir is a directory whose path leaves room for a socket's name.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bench") //nolint:usetesting // its path grows with the test's name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
