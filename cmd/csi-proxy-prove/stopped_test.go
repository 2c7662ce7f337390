// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
	"github.com/kubernetes-csi/csi-proxy/test/windows"
)

func TestCtrlC(t *testing.T) {
	k, _ := newKit(t)
	made := waits(t)
	file := filepath.Join(t.TempDir(), "report.json.gz")
	if code := interrupted(t, k, os.Interrupt, file); code != exitFailed {
		t.Errorf("exit %d, want %d", code, exitFailed)
	}
	r := report(t, file)
	if r == nil || !r.Interrupted {
		t.Fatalf("the report is %+v", r)
	}
	if got := verdictsOf(r); !slices.Contains(got, "made: failed ended early") {
		t.Errorf("it reports %q", got)
	}
	for _, path := range []string{made, k.base} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}

func TestLeftoversOfKilledRunAreRemoved(t *testing.T) {
	k, out := newKit(t)
	made := waits(t)
	interrupted(t, k, os.Kill, filepath.Join(t.TempDir(), "report.json.gz"))
	if _, err := os.Stat(made); err != nil {
		t.Fatal(err)
	}
	if code, err := k.run(t.Context(), []string{"-list"}); code != exitHeld || err != nil ||
		!strings.Contains(out.String(), "An earlier run left these") {
		t.Errorf("exit %d, %v, and said:\n%s", code, err, out)
	}
	code, r, err := ran(t, k, "-yes", "-only=good")
	if code != exitHeld || err != nil {
		t.Fatalf("exit %d, %v\n%s", code, err, out)
	}
	if diff := cmp.Diff(r.Cleaned, []string{"directory " + made}); diff != "" {
		t.Errorf("cleaned (-got +want):\n%s", diff)
	}
	wantSalvaged(t, salvaged(t, out))
	for _, path := range []string{made, k.base} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}

// salvaged returns the report of a run that was stopped, which a later one wrote and named.
func salvaged(t *testing.T, out *bytes.Buffer) *proof.Report {
	t.Helper()
	m := regexp.MustCompile(`What it had found: (\S+)`).FindStringSubmatch(out.String())
	if m == nil {
		t.Fatalf("no earlier run is named:\n%s", out)
	}
	return report(t, m[1])
}

// wantSalvaged checks the report of a run that was killed in its second part.
func wantSalvaged(t *testing.T, r *proof.Report) {
	t.Helper()
	got := slices.DeleteFunc(verdictsOf(r), func(v string) bool { return strings.HasSuffix(v, ": not run") })
	want := []string{"good: held", "  TestGood: held", "  TestAbsent: not here require a machine",
		"made: failed " + nothingAfter}
	if diff := cmp.Diff(got, want); diff != "" || !r.Interrupted {
		t.Errorf("salvaged, interrupted %t (-got +want):\n%s", r.Interrupted, diff)
	}
	if len(r.Answers) != 1 || r.Answers[0].Said() != `{"on":"HOST"}` || len(r.Calls) != 1 || r.Kit.SHA256 == "" {
		t.Errorf("%d answers and %d calls are salvaged, of %+v", len(r.Answers), len(r.Calls), r.Kit)
	}
}

// A report that cannot be written stays in the run's directory.
func TestReportsThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json.gz")
	k, out := newKit(t)
	gone := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	k.parts = append(k.parts, part{name: "away", systems: []string{proof.Emulated}, limit: time.Minute,
		steps: []step{{name: "away", program: "away"}}})
	t.Setenv("GONE", gone)
	code, err := k.run(t.Context(),
		[]string{"-yes", "-only=good,away", "-report=" + filepath.Join(gone, "report.json.gz")})
	if code != exitFailed || err == nil || !strings.Contains(err.Error(), "start the kit again with another -report") {
		t.Fatalf("exit %d, %v\n%s", code, err, out)
	}
	if code, err := k.run(t.Context(), []string{"-clean", "-yes", "-report=" + file + ".json.gz"}); code != exitHeld ||
		err != nil {
		t.Errorf("exit %d, %v\n%s", code, err, out)
	}
	if r := salvaged(t, out); r == nil || len(r.Answers) != 1 {
		t.Errorf("the report is %+v", r)
	}
}

func TestCleanRunsNoTests(t *testing.T) {
	k, out := newKit(t)
	made := waits(t)
	interrupted(t, k, os.Kill, filepath.Join(t.TempDir(), "report.json.gz"))
	code, r, err := ran(t, k, "-clean", "-yes")
	if code != exitHeld || err != nil || r != nil || strings.Contains(out.String(), "=== ") {
		t.Fatalf("exit %d, %v, report %v\n%s", code, err, r, out)
	}
	wantSalvaged(t, salvaged(t, out))
	for _, path := range []string{made, k.base} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}

// An object that cannot be removed keeps a new run from starting, and stays in the ledger.
func TestUnremovableObjectsStayInLedger(t *testing.T) {
	k, _ := newKit(t)
	if err := prepare(k.base); err != nil {
		t.Fatal(err)
	}
	ledger, err := windows.OpenLedger(ledgerOf(k.base))
	if err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(t.TempDir(), "made")
	if _, err := ledger.Note(windows.Entry{Kind: windows.KindDirectory, Name: made, Mark: "of another one"}); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(made, "somebody's"), 0o700); err != nil {
		t.Fatal(err)
	}
	if code, r, err := ran(t, k, "-yes", "-only=good"); code != exitFailed || r != nil || err == nil ||
		!strings.Contains(err.Error(), "cannot remove the leftovers") {
		t.Errorf("exit %d, %v", code, err)
	}
	if len(ledger.Remaining()) != 1 {
		t.Error("it is forgotten")
	}
}
