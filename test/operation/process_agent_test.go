// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// An agentProcess is a running process of the agent.
type agentProcess struct {
	command *exec.Cmd
	log     string // the path of what it writes to standard error
	ended   chan struct{}
}

// launch starts an agent and waits until it is ready.
func launch(t *testing.T, args ...string) *agentProcess {
	t.Helper()
	a := &agentProcess{command: exec.Command(command("csi-proxy"), args...), log: filepath.Join(t.TempDir(), "log"), ended: make(chan struct{})}
	log, err := os.Create(a.log)
	if err != nil {
		t.Fatal(err)
	}
	a.command.Stderr = log
	stdout, err := a.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.command.Start(); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(stdout)
	line, err := reader.ReadString('\n')
	go func() {
		_, _ = io.Copy(io.Discard, reader) // Wait must come after the last read
		_ = a.command.Wait()               // ProcessState has how it ended
		_ = log.Close()
		close(a.ended)
	}()
	t.Cleanup(func() {
		a.kill()
		if content, err := os.ReadFile(a.log); t.Failed() && err == nil {
			t.Logf("the log of process %d:\n%s", a.command.Process.Pid, content)
		}
	})
	if err != nil || !strings.HasPrefix(line, "ready ") {
		t.Fatalf("the agent said %q (%v) instead of being ready", line, err)
	}
	return a
}

// kill ends the agent without a chance to do anything, and returns when it is gone.
func (a *agentProcess) kill() {
	_ = a.command.Process.Kill()
	<-a.ended
}
