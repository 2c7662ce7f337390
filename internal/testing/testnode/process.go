// SPDX-License-Identifier: Apache-2.0

package testnode

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startLimit is how long an agent may take to be ready on a busy machine.
const startLimit = 2 * time.Minute

// Process is an agent as a process of its own, killed when its test ends. A failed test shows its log, unless
// the test had killed it.
type Process struct {
	Command *exec.Cmd
	Ended   chan struct{} // closed when the process is gone

	t      testing.TB
	log    string
	first  chan string
	killed bool
}

// Launch starts csi-proxy and waits until it is ready.
func Launch(t testing.TB, args ...string) *Process {
	t.Helper()
	return launch(t, "csi-proxy", args)
}

// LaunchEmulated starts csi-proxy-emulated and waits until it is ready.
func LaunchEmulated(t testing.TB, args ...string) *Process {
	t.Helper()
	return launch(t, "csi-proxy-emulated", args)
}

func launch(t testing.TB, name string, args []string) *Process {
	t.Helper()
	p := BeginCommand(t, exec.Command(Command(t, name), args...)) //nolint:gosec // the test says which
	p.Ready()
	return p
}

// BeginCommand starts a command that is or becomes one of the agents, and does not wait for it.
func BeginCommand(t testing.TB, command *exec.Cmd) *Process {
	t.Helper()
	p := &Process{Command: command, Ended: make(chan struct{}), t: t, log: filepath.Join(t.TempDir(), "log"),
		first: make(chan string, 1)}
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	p.Command.Stderr = log
	stdout, err := p.Command.StdoutPipe()
	if err == nil {
		err = p.Command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		reader := bufio.NewReader(stdout)
		line, _ := reader.ReadString('\n')
		p.first <- strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		_, _ = io.Copy(io.Discard, reader) // Wait must come after the last read
		_ = p.Command.Wait()               // ProcessState has the result
		_ = log.Close()
		close(p.Ended)
	}()
	t.Cleanup(func() {
		over := p.killed
		p.Kill()
		if t.Failed() && !over {
			t.Logf("the log of process %d:\n%s", p.Command.Process.Pid, p.Logged())
		}
	})
	return p
}

// Ready waits until the agent is ready, and returns the line that reports it.
func (p *Process) Ready() string {
	p.t.Helper()
	late := time.NewTimer(startLimit)
	defer late.Stop()
	select {
	case line := <-p.first:
		p.first <- line // for the next call
		if !strings.HasPrefix(line, "ready ") || line == "ready 0" {
			p.t.Fatalf("the agent printed %q instead of being ready", line)
		}
		return line
	case <-late.C:
		p.t.Fatalf("the agent is not ready after %v", startLimit)
	}
	return ""
}

// Kill ends the agent at once, with no chance to clean up, and returns when it is gone.
func (p *Process) Kill() {
	p.killed = true
	_ = p.Command.Process.Kill() // it may have ended already
	<-p.Ended
}

// Logged returns what the agent has written to standard error so far.
func (p *Process) Logged() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
