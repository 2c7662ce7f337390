// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var root = filepath.Join("..", "..", "..")

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
			t.Errorf("%q is printed: %t, want %t, in:\n%s", text, !want, want, said.String())
		}
	}
	if _, err := summarize(strings.NewReader("no JSON"), &said); err == nil {
		t.Error("a text that is not JSON is taken for events")
	}
}

func TestCompilerOutputIsPrinted(t *testing.T) {
	for name, test := range map[string]struct{ events, want string }{
		"its test does not compile": {
			`{"ImportPath":"p [p.test]","Action":"build-output","Output":"# p [p.test]\n"}
{"ImportPath":"p [p.test]","Action":"build-output","Output":"p/p_test.go:5:2: undefined: x\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}
`,
			"FAILED p \n# p [p.test]\np/p_test.go:5:2: undefined: x\nFAIL\tp [build failed]\n",
		},
		"what two import does not compile": {
			`{"ImportPath":"d","Action":"build-output","Output":"d/d.go:3:1: syntax error\n"}
{"ImportPath":"d","Action":"build-fail"}
{"Action":"fail","Package":"p","FailedBuild":"d"}
{"Action":"fail","Package":"q","FailedBuild":"d"}
`,
			"FAILED p \nd/d.go:3:1: syntax error\nFAILED q \nd/d.go:3:1: syntax error\n",
		},
		"another package's": {
			`{"ImportPath":"d","Action":"build-output","Output":"a warning\n"}
{"Action":"output","Package":"p","Output":"panic\n"}
{"Action":"fail","Package":"p"}
`,
			"FAILED p \npanic\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var said strings.Builder
			if _, err := summarize(strings.NewReader(test.events), &said); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(said.String(), test.want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}

// Every package is in exactly one of the two steps.
func TestPackagesOnTheMachinesPipesRunAlone(t *testing.T) {
	for _, p := range onMachinePipes {
		if tests, err := filepath.Glob(filepath.Join(root, p, "*_test.go")); err != nil || len(tests) == 0 {
			t.Errorf("%s has no tests: %v", p, err)
		}
	}
	some, err := chosen(steps("out", true), []string{"unit", "pipes"})
	if err != nil {
		t.Fatal(err)
	}
	unit, pipes := some[0], some[1]
	unit.dir = root
	got, err := unit.packages(os.Stderr)
	if err != nil || !slices.Contains(got, module+"test/windows/ci") {
		t.Errorf("got %v, %v", got, err)
	}
	for _, p := range onMachinePipes {
		if slices.Contains(got, module+p) || !slices.Contains(pipes.args, "./"+p) {
			t.Errorf("%s runs beside others, or not at all", p)
		}
	}
	if !slices.Contains(pipes.args, "-p=1") {
		t.Errorf("the packages run side by side: %s", pipes)
	}
}

func TestServiceIsRemovedAtTheEnd(t *testing.T) {
	var names []string
	for _, s := range steps("out", true) {
		names = append(names, s.name)
	}
	want := []string{"build", "build-csi-proxyctl", "unit", "pipes", "client", "service", "install", "upgrade",
		"uninstall"}
	if diff := cmp.Diff(names, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	for _, s := range steps("out", false) {
		if s.args[0] != "go" || slices.Contains(s.env, "CSI_PROXY_TEST_SERVICE=1") {
			t.Errorf("step %s off Windows: %s", s.name, s)
		}
	}
}

// The scripts are the delivered ones.
func TestScriptsExist(t *testing.T) {
	for _, s := range steps("out", true) {
		if s.args[0] != "powershell.exe" {
			continue
		}
		call := s.args[len(s.args)-1]
		_, name, _ := strings.Cut(call, `.\`)
		name, _, _ = strings.Cut(name, " ")
		if _, err := os.Stat(filepath.Join(root, s.dir, name)); err != nil {
			t.Errorf("step %s: %v", s.name, err)
		}
	}
}

// What makes disks, shares and users is the kit's, which takes them away again.
func TestMachineTestsRunInTheKit(t *testing.T) {
	for _, onWindows := range []bool{false, true} {
		for _, s := range steps("out", onWindows) {
			if strings.Contains(strings.Join(s.env, " "), "CSI_PROXY_TEST_NODE") {
				t.Errorf("the step %s changes the machine: %s", s.name, s)
			}
		}
	}
}

func TestChosenSteps(t *testing.T) {
	some, err := chosen(steps("out", false), []string{"unit", "build"})
	if err != nil || len(some) != 2 || some[0].name != "unit" {
		t.Errorf("got %v, %v", some, err)
	}
	if _, err := chosen(steps("out", false), []string{"none"}); err == nil {
		t.Error("a step that does not exist was chosen")
	}
}
