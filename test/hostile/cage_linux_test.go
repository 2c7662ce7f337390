// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// chartLimit is the memory limit that the chart gives the agent.
const chartLimit = 256 << 20

// cage is a memory cgroup with the chart's limit, as kubelet makes one for a container: beyond it, the kernel kills.
// Where none can be made, because the test is not root or the hierarchy is read-only, the process's own peak is all
// there is.
type cage struct {
	group string // its directory; empty: there is none
	peak  string // the file with the highest use, page cache and the kernel's own included
}

// newCage makes a cgroup of version 1 or 2 below the mounts that distributions use.
func newCage(t *testing.T) *cage {
	t.Helper()
	name := fmt.Sprintf("csi-proxy-test-%d-%d", os.Getpid(), time.Now().UnixNano())
	for _, v := range []struct{ root, limit, peak string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"},
		{"/sys/fs/cgroup", "memory.max", "memory.peak"},
	} {
		group := filepath.Join(v.root, name)
		if err := os.Mkdir(group, 0o755); err != nil {
			continue
		}
		t.Cleanup(func() { // which the kernel allows when its last process is gone
			eventually(t, "the cgroup is removed", func() bool { return os.Remove(group) == nil })
		})
		if err := os.WriteFile(filepath.Join(group, v.limit), []byte(strconv.Itoa(chartLimit)), 0o600); err != nil {
			continue // the controller is not enabled there
		}
		_ = os.WriteFile(filepath.Join(group, "memory.swap.max"), []byte("0"), 0o600) // where there is swap
		return &cage{group, filepath.Join(group, v.peak)}
	}
	return &cage{}
}

// command returns the command that starts a program in the cage. It enters it first: memory is charged where it was
// asked for.
func (c *cage) command(program string, args ...string) *exec.Cmd {
	if c.group == "" {
		return exec.Command(program, args...)
	}
	enter := `echo $$ >"$1/cgroup.procs" || exit; shift; exec "$@"`
	return exec.Command("/bin/sh", append([]string{"-c", enter, "sh", c.group, program}, args...)...)
}

// caged is an agent in a cage.
type caged struct {
	*testnode.Process
	*cage
	t        *testing.T
	stateDir string
	metrics  string // the address of its metrics port
}

// startCaged starts the agent that users have, on an emulated node.
func startCaged(t *testing.T) *caged {
	t.Helper()
	a := &caged{cage: newCage(t), t: t, stateDir: testnode.ShortDir(t)}
	program, args := testnode.Command(t, "csi-proxy-emulated"), []string{
		"-state-dir=" + a.stateDir, "-metrics-bind-address=127.0.0.1:0",
	}
	a.Process = testnode.BeginCommand(t, a.command(program, args...))
	a.Ready()
	for line := range strings.Lines(a.Logged()) {
		if _, address, ok := strings.Cut(line, `serving metrics and health" address="`); ok {
			a.metrics, _, _ = strings.Cut(address, `"`)
		}
	}
	if a.metrics == "" {
		t.Fatalf("the agent does not log the address of its metrics:\n%s", a.Logged())
	}
	return a
}

func (a *caged) sockets() string { return filepath.Join(a.stateDir, "run") }

// resident returns the process's highest and its present resident memory.
func (a *caged) resident() (highest, present int) {
	a.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.Command.Process.Pid))
	noError(a.t, err)
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kib, _ := strconv.Atoi(fields[1])
		switch fields[0] {
		case "VmHWM:":
			highest = kib << 10
		case "VmRSS:":
			present = kib << 10
		}
	}
	return highest, present
}

// requireAlive fails the test if the agent was killed, or holds more than the limit.
func (a *caged) requireAlive(during string) {
	a.t.Helper()
	select {
	case <-a.Ended:
		status, _ := a.Command.ProcessState.Sys().(syscall.WaitStatus)
		a.t.Fatalf("%s: the agent is gone: %v (signal %v)", during, a.Command.ProcessState, status.Signal())
	default:
	}
	highest, present := a.resident()
	witness := "no cgroup could be made: the resident peak alone"
	if a.group != "" {
		text, err := os.ReadFile(a.peak)
		noError(a.t, err)
		peak, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		witness = fmt.Sprintf("in a cgroup of %d MiB, with page cache and kernel memory at most %d MiB",
			chartLimit>>20, peak>>20)
	}
	a.t.Logf("%s: resident at most %d MiB, now %d MiB (%s)", during, highest>>20, present>>20, witness)
	if highest >= chartLimit {
		a.t.Errorf("%s: the agent held %d MiB, and the chart allows %d MiB", during, highest>>20, chartLimit>>20)
	}
}
