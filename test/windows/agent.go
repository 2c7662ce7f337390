// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// AgentVariable names the environment variable with the agent's binary; without it the tests build one.
const AgentVariable = "CSI_PROXY_AGENT"

// startLimit is how long an agent may take until it is ready, on a machine that does much else.
const startLimit = time.Minute

// StartAgent runs an agent until the test ends, and returns the line that it says it is ready with. Its log becomes part
// of a test that failed.
func StartAgent(t testing.TB, args ...string) (ready string) {
	t.Helper()
	logPath := filepath.Join(t.TempDir(), "agent.log")
	log, err := os.Create(logPath)
	if err != nil {
		t.Fatal(err)
	}
	agent := exec.Command(AgentBinary(t), args...) //nolint:gosec // the test says which
	agent.Stderr = log
	stdout, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = agent.Process.Kill() // there is no gentler signal that every system has
		for range lines {        // or waiting would cut off the reader
		}
		_ = agent.Wait() // its error says that it was killed
		_ = log.Close()
		if content, err := os.ReadFile(logPath); t.Failed() && err == nil {
			t.Logf("the agent's log:\n%s", content)
		}
	})
	late := time.NewTimer(startLimit)
	defer late.Stop()
	select {
	case line, ok := <-lines:
		if !ok || !strings.HasPrefix(line, "ready ") {
			t.Fatalf("the agent said %q instead of being ready", line)
		}
		return line
	case <-late.C:
		t.Fatalf("the agent is not ready after %v", startLimit)
	}
	return ""
}

// AgentBinary is the agent to test.
func AgentBinary(t testing.TB) string {
	t.Helper()
	if given := os.Getenv(AgentVariable); given != "" {
		return given
	}
	binary := filepath.Join(t.TempDir(), "csi-proxy")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "github.com/kubernetes-csi/csi-proxy/cmd/csi-proxy")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the agent: %v\n%s", err, out)
	}
	return binary
}
