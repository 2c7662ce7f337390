// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// A step is one go command.
type step struct {
	name string
	dir  string
	args []string
	env  []string
}

// steps are all steps, in their order. On a machine that is Windows the suites work on the machine itself.
func steps(out string, onWindows bool) []step {
	binary := filepath.Join(out, "bin", "csi-proxy")
	machine := []string{"CSI_PROXY_ANSWERS=" + filepath.Join(out, "answers.json"), "CSI_PROXY_AGENT=" + binary}
	if onWindows {
		machine[1] += ".exe"
		machine = append(machine, "CSI_PROXY_TEST_NODE=windows")
	}
	alone := []string{"GOWORK=off"}
	test := func(more ...string) []string { return slices.Concat([]string{"test", "-json", "-count=1"}, more) }
	return []step{
		{"build", ".", []string{"build", "-trimpath", "-o", filepath.Join(out, "bin") + string(filepath.Separator), "./cmd/csi-proxy", "./cmd/csi-proxyctl"}, alone},
		{"unit", ".", test("-timeout=30m", "./..."), alone},
		{"client", "client", test("-timeout=10m", "./..."), alone},
		// The agent's pipes are the machine's, so there is one suite at a time.
		{"lives", ".", test("-timeout=60m", "-run=Lifecycle", "./test/conformance"), append(machine, alone...)},
		{"machine", ".", test("-timeout=60m", "./test/windows"), append(machine, alone...)},
	}
}

// run runs the step. What a test step prints is kept as it is and summed up.
func (s step) run(out string, w io.Writer) error {
	command := exec.Command("go", s.args...) //nolint:gosec // of the table above
	command.Dir = s.dir
	command.Env = append(os.Environ(), s.env...)
	command.Stderr = w
	if s.args[0] != "test" {
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
	_, _ = fmt.Fprintf(w, "%d tests passed, %d failed, %d were skipped\n", sum.passed, sum.failed, sum.skipped)
	if err := command.Wait(); err != nil {
		return err
	}
	if sum.passed == 0 {
		return fmt.Errorf("no test ran")
	}
	return nil
}
