// SPDX-License-Identifier: Apache-2.0

package testnode

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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

// started are the processes of this test program's agents. A number is gone before Wait lets go of the process, which
// keeps it from being another one's.
var started processes

type processes struct {
	mu   sync.Mutex
	pids map[int]bool
}

func (p *processes) add(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pids == nil {
		p.pids = map[int]bool{}
	}
	p.pids[pid] = true
}

func (p *processes) remove(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pids, pid)
}

// Launch starts csi-proxy and waits until it is ready.
func Launch(t testing.TB, args ...string) *Process {
	t.Helper()
	p := Begin(t, args...)
	p.Ready()
	return p
}

// LaunchEmulated starts csi-proxy-emulated and waits until it is ready.
func LaunchEmulated(t testing.TB, args ...string) *Process {
	t.Helper()
	p := BeginEmulated(t, args...)
	p.Ready()
	return p
}

// Begin starts csi-proxy and does not wait for it.
func Begin(t testing.TB, args ...string) *Process {
	t.Helper()
	return BeginCommand(t, exec.Command(Command(t, "csi-proxy"), args...)) //nolint:gosec // the test says which
}

// BeginEmulated starts csi-proxy-emulated and does not wait for it.
func BeginEmulated(t testing.TB, args ...string) *Process {
	t.Helper()
	return BeginCommand(t, exec.Command(Command(t, "csi-proxy-emulated"), args...)) //nolint:gosec // the test says which
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
	started.add(p.Command.Process.Pid)
	go func() {
		reader := bufio.NewReader(stdout)
		line, _ := reader.ReadString('\n')
		p.first <- strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		_, _ = io.Copy(io.Discard, reader) // Wait must come after the last read
		started.remove(p.Command.Process.Pid)
		_ = p.Command.Wait() // ProcessState has the result
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
