// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

// chartLimit is the memory limit that the chart gives the agent.
const chartLimit = 256 << 20

// cage is a memory cgroup with the chart's limit, as kubelet makes one for a container: beyond it, the kernel kills. Where
// none can be made, because the test is not root or the hierarchy is read-only, the process's own peak is all there is.
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
		t.Cleanup(func() { removeGroup(t, group) })
		if err := os.WriteFile(filepath.Join(group, v.limit), []byte(strconv.Itoa(chartLimit)), 0o600); err != nil {
			continue // the controller is not enabled there
		}
		_ = os.WriteFile(filepath.Join(group, "memory.swap.max"), []byte("0"), 0o600) // where there is swap
		return &cage{group, filepath.Join(group, v.peak)}
	}
	return &cage{}
}

// within returns the command that starts a program in a cgroup. It enters it first: memory is charged where it was asked for.
func within(group, program string, args ...string) *exec.Cmd {
	if group == "" {
		return exec.Command(program, args...)
	}
	enter := `echo $$ > "$0" && exec "$@"`
	return exec.Command("/bin/sh", append([]string{"-c", enter, filepath.Join(group, "cgroup.procs"), program}, args...)...)
}

// removeGroup removes a cgroup, which the kernel allows when its last process is gone for good.
func removeGroup(t *testing.T, group string) {
	eventually(t, "the cgroup is removed", func() bool { return os.Remove(group) == nil })
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
	program, args := testnode.Command(t, "csi-proxy"), []string{
		"-host=emulated", "-state-dir=" + a.stateDir, "-metrics-bind-address=127.0.0.1:0",
	}
	a.Process = testnode.BeginCommand(t, within(a.group, program, args...))
	a.Ready()
	for line := range strings.Lines(a.Logged()) {
		if _, address, ok := strings.Cut(line, `serving metrics and health" address="`); ok {
			a.metrics, _, _ = strings.Cut(address, `"`)
		}
	}
	if bound := fmt.Sprintf("bytes=%d goRuntimeBytes=%d", chartLimit, chartLimit/4*3); a.group != "" && !strings.Contains(a.Logged(), bound) {
		t.Errorf("the agent does not know its limit, %s:\n%s", bound, a.Logged())
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

// lives fails the test if the agent was killed, or holds more than the limit.
func (a *caged) lives(during string) {
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
		witness = fmt.Sprintf("in a cgroup of %d MiB, with page cache and kernel memory at most %d MiB", chartLimit>>20, peak>>20)
	}
	a.t.Logf("%s: resident at most %d MiB, now %d MiB (%s)", during, highest>>20, present>>20, witness)
	if highest >= chartLimit {
		a.t.Errorf("%s: the agent held %d MiB, and the chart allows %d MiB", during, highest>>20, chartLimit>>20)
	}
}

// unleash starts raiders against an agent and returns when all have sent their first wave. They end with the test, or when
// the returned function is called. Where cgroups can be made they are in one of their own, as those of another container, and
// they yield the processor to the agent and its driver, as containers with fewer shares do.
func unleash(t *testing.T, b battlefield, names ...string) (end func()) {
	t.Helper()
	program, err := os.Executable()
	noError(t, err)
	group := fmt.Sprintf("/sys/fs/cgroup/memory/csi-proxy-test-raiders-%d-%d", os.Getpid(), time.Now().UnixNano())
	if os.Mkdir(group, 0o755) == nil {
		t.Cleanup(func() { removeGroup(t, group) })
	} else {
		group = ""
	}
	var ends []func()
	var firsts []*bufio.Reader
	for _, name := range names {
		c := within(group, program)
		c.Env = append(os.Environ(), raidVariable+"="+name, raidSockets+"="+b.sockets, raidMetrics+"="+b.metrics, raidFiles+"="+b.files)
		c.Stderr = os.Stderr
		input, err := c.StdinPipe()
		noError(t, err)
		output, err := c.StdoutPipe()
		noError(t, err)
		noError(t, c.Start())
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, c.Process.Pid, 19)
		ends = append(ends, func() { _ = input.Close(); _ = c.Wait() })
		firsts = append(firsts, bufio.NewReader(output))
	}
	end = sync.OnceFunc(func() {
		for _, f := range ends {
			f()
		}
	})
	t.Cleanup(end)
	for i, first := range firsts {
		if line, err := first.ReadString('\n'); line != "attacking\n" {
			t.Fatalf("the raider %q printed %q, %v", names[i], line, err)
		}
	}
	return end
}
