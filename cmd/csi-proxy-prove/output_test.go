// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

// The lines are those that Go's testing package prints with -test.v=test2json; $ stands for the marker.
func TestOutputOfParallelTests(t *testing.T) {
	text := strings.ReplaceAll(`$=== RUN   TestA
$=== RUN   TestA/one
$=== PAUSE TestA/one
$=== RUN   TestA/two
$=== PAUSE TestA/two
$=== CONT  TestA/one
    a_test.go:5: one says
    a_test.go:6: proved: volume v1 MountVolume
$=== CONT  TestA/two
    a_test.go:7: two fails
$=== NAME  TestA/one
    a_test.go:8: one again
$--- FAIL: TestA/two (1.50s)
$--- PASS: TestA/one (2.00s)
$=== NAME  TestA
$--- FAIL: TestA (2.00s)
$=== RUN   TestB
$=== ATTR  TestB key value
no end of line$--- SKIP: TestB (0.00s)
FAIL
exit`, "$", string(rune(marker)))
	for size := range 20 { // in pieces of any size
		var o testOutput
		for rest := text; rest != ""; {
			n := min(size+1, len(rest))
			if _, err := o.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		checks, loose := o.result()
		want := []proof.Check{
			{Test: "TestA", Verdict: proof.Failed, Seconds: 2},
			{Test: "TestA/one", Verdict: proof.Held, Seconds: 2, Methods: map[string]string{"volume v1 MountVolume": "proved"}},
			{Test: "TestA/two", Verdict: proof.Failed, Reason: "two fails", Seconds: 1.5,
				Output: []string{"    a_test.go:7: two fails"}},
			{Test: "TestB", Verdict: proof.Unavailable, Reason: "no end of line"},
		}
		if diff := cmp.Diff(checks, want); diff != "" {
			t.Fatalf("(-got +want):\n%s", diff)
		}
		if diff := cmp.Diff(loose, []string{"FAIL", "exit"}); diff != "" {
			t.Fatalf("loose lines (-got +want):\n%s", diff)
		}
	}
}

func TestOutputIsBounded(t *testing.T) {
	var o testOutput
	_, _ = fmt.Fprintf(&o, "%c=== RUN   TestA\n%s\n", marker, strings.Repeat("x", 2<<20))
	for i := range 3 * keptLines {
		_, _ = fmt.Fprintf(&o, "line %d\n", i)
	}
	_, _ = fmt.Fprintf(&o, "%c--- FAIL: TestA (0.00s)\n", marker)
	checks, _ := o.result()
	if got := checks[0].Output; len(got) != keptLines || got[keptLines-1] != fmt.Sprintf("line %d", 3*keptLines-1) {
		t.Errorf("%d lines are kept, the last is %q", len(got), got[len(got)-1])
	}
}

func FuzzOutput(f *testing.F) {
	f.Add([]byte("\x16=== RUN   TestA\n  x: proved: a b c\n\x16--- PASS: TestA (0.1s)\n"))
	f.Add([]byte("\x16\x16=== NAME  \n\x16--- SKIP: (s)\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var o testOutput
		if n, err := o.Write(text); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
		checks, loose := o.result()
		for _, c := range checks {
			if c.Test == "" || len(c.Output) > keptLines {
				t.Errorf("%+v", c)
			}
		}
		if len(loose) > keptLines {
			t.Errorf("%d loose lines", len(loose))
		}
	})
}

// Each program of a part is built into the kit, and each test that a part names exists.
func TestPartsHaveTheirPrograms(t *testing.T) {
	script, err := os.ReadFile("../../hack/build-prove.sh")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	var all []step
	for _, p := range parts() {
		if names[p.name] || p.does == "" || p.limit == 0 || p.minutes == 0 || len(p.systems) == 0 {
			t.Errorf("the part %+v is not complete, or is there twice", p)
		}
		names[p.name] = true
		for _, s := range p.steps {
			if all = append(all, s); s.beside != nil {
				all = append(all, *s.beside)
			}
		}
	}
	for _, s := range all {
		folder, isTest := strings.CutSuffix(s.program, ".test")
		built := isTest && regexp.MustCompile(`(?m)^\s*tests=.*\b`+folder+`\b`).Match(script) ||
			strings.Contains(string(script), "(./"+s.program+")") ||
			slices.Contains([]string{"csi-proxy", "csi-proxyctl"}, s.program)
		if !built {
			t.Errorf("hack/build-prove.sh does not build %s", s.program)
		}
		if !isTest {
			continue
		}
		run := strings.TrimPrefix(s.args[0], "-test.run=")
		tests := testsOf(t, filepath.Join("..", "..", "test", folder))
		if !slices.ContainsFunc(tests, regexp.MustCompile(run).MatchString) {
			t.Errorf("%s has no test %s", folder, run)
		}
		for _, name := range regexp.MustCompile(`Test\w+`).FindAllString(run, -1) {
			if !slices.Contains(tests, name) {
				t.Errorf("%s has no test %s", folder, name)
			}
		}
	}
}

func testsOf(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(content, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names
}
