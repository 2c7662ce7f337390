// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSummary(t *testing.T) {
	const events = `{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"all is well\n"}
{"Action":"pass","Package":"p","Test":"TestGood"}
{"Action":"output","Package":"p","Test":"TestBad","Output":"it broke\n"}
{"Action":"fail","Package":"p","Test":"TestBad"}
{"Action":"output","Package":"p","Test":"TestNotHere","Output":"require a machine\n"}
{"Action":"skip","Package":"p","Test":"TestNotHere"}
{"Action":"fail","Package":"p"}
`
	var said strings.Builder
	got, err := summarize(strings.NewReader(events), &said)
	if err != nil || got != (summary{1, 1, 1}) {
		t.Errorf("got %+v, %v", got, err)
	}
	for text, want := range map[string]bool{"it broke": true, "require a machine": true, "all is well": false} {
		if strings.Contains(said.String(), text) != want {
			t.Errorf("%q is said: %t, want %t, in:\n%s", text, !want, want, said.String())
		}
	}
	if _, err := summarize(strings.NewReader("no JSON"), &said); err == nil {
		t.Error("what is no JSON is taken for events")
	}
}

func TestOnlyTheMachineItselfIsChanged(t *testing.T) {
	for _, onWindows := range []bool{false, true} {
		var machine []string
		for _, s := range steps("out", onWindows) {
			if strings.Contains(strings.Join(s.env, " "), "CSI_PROXY_TEST_NODE=windows") {
				machine = append(machine, s.name)
			}
		}
		want := []string(nil)
		if onWindows {
			want = []string{"lives", "machine"}
		}
		if diff := cmp.Diff(machine, want); diff != "" {
			t.Errorf("on Windows %t (-got +want):\n%s", onWindows, diff)
		}
	}
}

func TestChosenSteps(t *testing.T) {
	some, err := chosen(steps("out", false), []string{"lives", "build"})
	if err != nil || len(some) != 2 || some[0].name != "lives" {
		t.Errorf("got %v, %v", some, err)
	}
	if _, err := chosen(steps("out", false), []string{"none"}); err == nil {
		t.Error("a step that does not exist was chosen")
	}
}
