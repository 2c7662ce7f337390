// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// TestMain lets the test's binary be the echo, as the program itself can be.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "echo" {
		if err := run(context.Background(), os.Args[1:]); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(testnode.Main(m))
}

// The program runs briefly. The figures themselves are not tested.
func TestComparisonOfTwoAgents(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the agent of the machine would be called")
	}
	agent := testnode.Command(t, "csi-proxy-emulated")
	text, err := compare(t.Context(), options{programs: filepath.Dir(agent), upstream: agent, rounds: 2, turns: 2,
		slice: time.Millisecond, rest: time.Millisecond, later: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| | echo | csi-proxy | upstream | csi-proxy ÷ upstream |\n|---|--:|--:|--:|--:|\n",
		"\n| PathExists, one caller: time ÷ echo's | | ", "\n| memory 1ms later, MiB | | ", ", 2 rounds.\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}

func TestTableHasMediansAndRatiosOfARound(t *testing.T) {
	ours := figures{{start: 30, echoStart: 10}, {start: 20, echoStart: 20}, {start: 90, echoStart: 30}}
	other := figures{{start: 10}, {start: 20}, {start: 30}}
	text := table([]program{{name: "a"}, {name: "b"}}, []figures{ours, other}, time.Second)
	const want = "| start until every endpoint takes connections, ms | 20.0 (10.0 to 30.0) | 30.0 (20.0 to 90.0) " +
		"| 20.0 (10.0 to 30.0) | 3.00 (1.00 to 3.00) |"
	if diff := cmp.Diff(strings.Split(text, "\n")[2], want); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
	if alone := table([]program{{name: "a"}}, []figures{ours}, time.Second); strings.Contains(alone, "a ÷") {
		t.Errorf("a table of one agent has ratios:\n%s", alone)
	}
}
