// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/kubernetes-csi/csi-proxy/"

// onMachinePipes are the packages whose tests serve or call a driver's pipes, of which a machine has only one set.
var onMachinePipes = []string{
	"csiproxytest", "examples/driver-switch", "test/bench", "test/conformance", "test/operation",
	"test/reliability", "test/windows",
}

// A step is one command.
type step struct {
	name string
	dir  string
	args []string // the program first
	env  []string

	// allBut adds all packages but these, which are relative to the module.
	allBut []string
}

// String returns its command.
func (s step) String() string {
	text := strings.Join(s.args, " ")
	if s.allBut != nil {
		text += " ./... but " + strings.Join(s.allBut, ", ")
	}
	return text
}

// steps returns all steps, in order. What they try on the machine itself is the service; the rest of it is the kit's.
func steps(out string, onWindows bool) []step {
	bin := filepath.Join(out, "bin")
	alone := []string{"GOWORK=off"}
	test := func(more ...string) []string { return slices.Concat([]string{"go", "test", "-json", "-count=1"}, more) }
	var pipes []string
	for _, p := range onMachinePipes {
		pipes = append(pipes, "./"+p)
	}
	all := []step{
		{name: "build", dir: ".", args: []string{"go", "build", "-trimpath", "-o", bin + string(filepath.Separator),
			"./cmd/csi-proxy"}, env: alone},
		{name: "build-csi-proxyctl", dir: "cmd/csi-proxyctl", args: []string{"go", "build", "-trimpath", "-o",
			bin + string(filepath.Separator), "."}, env: alone},
		// The limits are per package. The workflow's is 60 minutes for all steps.
		{name: "unit", dir: ".", args: test("-timeout=20m"), env: alone, allBut: onMachinePipes},
		{name: "pipes", dir: ".", args: test(append([]string{"-timeout=15m", "-p=1"}, pipes...)...), env: alone},
		{name: "client", dir: "client", args: test("-timeout=5m", "./..."), env: alone},
	}
	if onWindows {
		all = append(all, serviceSteps(filepath.Join(bin, "csi-proxy.exe"), test, alone)...)
	}
	return all
}

// serviceSteps install the agent as the service of the machine and remove it again: its own tests, and the scripts as
// people call them. The last step also clears up what an earlier one left.
func serviceSteps(binary string, test func(...string) []string, alone []string) []step {
	script := func(name, call string) step {
		return step{
			name: name, dir: filepath.Join("deploy", "windows"), env: []string{"CSI_PROXY_BINARY=" + binary},
			args: []string{"powershell.exe", "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-Command",
				"$ErrorActionPreference = 'Stop'; " + call},
		}
	}
	return []step{
		{
			name: "service", dir: ".", args: test("-timeout=10m", "-p=1", "./cmd/csi-proxy", "./internal/winservice"),
			env: append([]string{"CSI_PROXY_TEST_SERVICE=1"}, alone...),
		},
		script("install", `.\install.ps1 -Source $env:CSI_PROXY_BINARY -AgentFlags '-v=2', `+
			`'-metrics-bind-address=127.0.0.1:29660'`),
		script("upgrade", `.\install.ps1 -Source $env:CSI_PROXY_BINARY -AgentFlags '-v=4'`),
		script("uninstall", `.\uninstall.ps1`),
	}
}

// run runs the step. The output of a test step is kept as it is, and summed up.
func (s step) run(out string, w io.Writer) error {
	args := s.args[1:]
	if s.allBut != nil {
		packages, err := s.packages(w)
		if err != nil {
			return err
		}
		args = slices.Concat(args, packages)
	}
	command := exec.Command(s.args[0], args...) //nolint:gosec // of the table above
	command.Dir = s.dir
	command.Env = append(environ(), s.env...) // which other programs ignore
	command.Stderr = w
	if args[0] != "test" {
		command.Stdout = w
		return command.Run()
	}
	kept, err := os.Create(filepath.Join(out, s.name+".json"))
	if err != nil {
		return err
	}
	defer kept.Close()
	events, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	sum, err := summarize(io.TeeReader(events, kept), w)
	if err != nil {
		_, _ = io.Copy(io.Discard, events) // or the tests would wait for a reader
		_ = command.Wait()
		return err
	}
	_, _ = fmt.Fprintf(w, "%d tests passed, %d failed, %d skipped\n", sum.passed, sum.failed, sum.skipped)
	if err := command.Wait(); err != nil {
		return err
	}
	if sum.passed == 0 {
		return fmt.Errorf("no test ran")
	}
	return nil
}

// packages returns all packages but those that the step leaves out.
func (s step) packages(w io.Writer) ([]string, error) {
	var out bytes.Buffer
	list := exec.Command("go", "list", "./...")
	list.Dir, list.Env, list.Stdout, list.Stderr = s.dir, append(os.Environ(), s.env...), &out, w
	if err := list.Run(); err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return slices.DeleteFunc(strings.Fields(out.String()), func(path string) bool {
		return slices.Contains(s.allBut, strings.TrimPrefix(path, module))
	}), nil
}
