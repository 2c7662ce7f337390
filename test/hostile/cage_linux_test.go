// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// within returns the command that starts a program in cgroups. It enters them first: memory is charged where it was asked for.
func within(groups []string, program string, args ...string) *exec.Cmd {
	if len(groups) == 0 {
		return exec.Command(program, args...)
	}
	enter := `n=$1; shift; while [ $n -gt 0 ]; do echo $$ >"$1/cgroup.procs" || exit; shift; n=$((n-1)); done; exec "$@"`
	return exec.Command("/bin/sh", slices.Concat([]string{"-c", enter, "sh", strconv.Itoa(len(groups))}, groups, []string{program}, args)...)
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
	program, args := testnode.Command(t, "csi-proxy-emulated"), []string{
		"-state-dir=" + a.stateDir, "-metrics-bind-address=127.0.0.1:0",
	}
	a.Process = testnode.BeginCommand(t, within(a.groups(), program, args...))
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

// groups returns the cage's cgroup, if there is one.
func (c *cage) groups() []string {
	if c.group == "" {
		return nil
	}
	return []string{c.group}
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

// unleash starts raiders against an agent, in cgroups of their own, and returns when all have sent their first wave. They end with
// the test, or when the returned function is called. They yield the processor to the agent and its driver.
func unleash(t *testing.T, b battlefield, groups []string, names ...string) (end func()) {
	t.Helper()
	program, err := os.Executable()
	noError(t, err)
	var ends []func()
	var firsts []*bufio.Reader
	for _, name := range names {
		c := within(groups, program)
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

// hierarchy is where cgroups are made, and the least share of the processors that one of them can have, if it has any.
type hierarchy struct{ root, share, least string }

// strangers makes the cgroup of processes whose container the agent does not know: their memory is not charged to the test's.
func strangers(t *testing.T) []string {
	return groupsIn(t, hierarchy{root: "/sys/fs/cgroup/memory"})
}

// leastPod makes the cgroups that kubelet gives to a pod which asks for no processor. That of version 2 is what the agent knows
// a container by.
func leastPod(t *testing.T) []string {
	return groupsIn(t, hierarchy{root: "/sys/fs/cgroup/memory"}, hierarchy{"/sys/fs/cgroup/cpu", "cpu.shares", "2"},
		hierarchy{root: "/sys/fs/cgroup/unified"}, hierarchy{"/sys/fs/cgroup", "cpu.weight", "1"})
}

// groupsIn makes a cgroup in each hierarchy that is there, as far as the test may.
func groupsIn(t *testing.T, hierarchies ...hierarchy) (groups []string) {
	name := fmt.Sprintf("csi-proxy-test-pod-%d-%d", os.Getpid(), time.Now().UnixNano())
	for _, h := range hierarchies {
		group := filepath.Join(h.root, name)
		if os.Mkdir(group, 0o755) != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(group, "cgroup.procs")); err != nil { // a directory of a tmpfs
			_ = os.Remove(group)
			continue
		}
		t.Cleanup(func() { removeGroup(t, group) })
		if h.share != "" {
			_ = os.WriteFile(filepath.Join(group, h.share), []byte(h.least), 0o600) // where the controller is enabled
		}
		groups = append(groups, group)
	}
	return groups
}
