// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
	if got := verdictsOf(r); !slices.Contains(got, "made: failed interrupt signal received") {
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
	file := filepath.Join(t.TempDir(), "report.json.gz")
	interrupted(t, k, os.Kill, file)
	if _, err := os.Stat(made); err != nil {
		t.Fatal(err)
	}
	// The report of the killed run has all parts but the one that ran.
	killed := report(t, file)
	want := []string{"good: held", "  TestGood: held", "  TestAbsent: not here require a machine"}
	if diff := cmp.Diff(verdictsOf(killed)[:3], want); diff != "" || !killed.Interrupted {
		t.Errorf("interrupted %t (-got +want):\n%s", killed.Interrupted, diff)
	}
	if len(killed.Answers) != 1 || killed.Answers[0].Said() != `{"on":"HOST"}` || len(killed.Calls) != 1 {
		t.Errorf("%d answers and %d calls are in the report", len(killed.Answers), len(killed.Calls))
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
	for _, path := range []string{made, k.base} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}

// A report that cannot be written is an error at once, and one that can no more be written leaves nothing either.
func TestReportsThatCannotBeWritten(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	t.Setenv("GONE", gone)
	args := []string{"-yes", "-only=good,away", "-report=" + filepath.Join(gone, "report.json.gz")}
	for _, want := range []int{exitNothing, exitFailed} {
		k, out := newKit(t)
		k.parts = append(k.parts, part{name: "away", systems: []string{proof.Emulated}, limit: time.Minute,
			steps: []step{{name: "away", program: "away"}}})
		code, err := k.run(t.Context(), args)
		if code != want || !errors.Is(err, fs.ErrNotExist) || strings.Contains(out.String(), "TestGood") != (want == exitFailed) {
			t.Errorf("exit %d, want %d, %v\n%s", code, want, err, out)
		}
		if _, err := os.Stat(k.base); err == nil {
			t.Error("the kit's directory is still there")
		}
		if err := os.Mkdir(gone, 0o700); err != nil { // for the second
			t.Fatal(err)
		}
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
