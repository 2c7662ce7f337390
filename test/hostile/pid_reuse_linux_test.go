// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/limits"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// A process that gets the number of one that left calls behind is another process.
func TestReusedPIDWithRunningCalls(t *testing.T) {
	g := attack(t, testnode.Options{Metrics: true, Limits: limits.Limits{Wait: 20 * time.Millisecond}})
	_, release := g.Faults.HangAll("OpenFile")
	defer release()
	c := g.another(childSocket, g.Socket("filesystem", "v2alpha1"))
	input, err := c.StdinPipe()
	noError(t, err)
	noError(t, c.Start())
	eventually(t, "the child's calls hang", func() bool { return g.metric(slotsInUse) == childCalls })
	_ = input.Close()
	noError(t, c.Wait())
	for range 100 { // others fork too
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(c.Process.Pid-1)), 0); err != nil {
			t.Skipf("a process's number cannot be chosen: %v", err)
		}
		again := g.another(driverSocket, g.Socket("disk", "v1"))
		got, pid := outputOf(t, again)
		if pid != c.Process.Pid {
			continue
		}
		if got != fmt.Sprintln(codes.OK) {
			t.Errorf("the next process with the number %d gets %s", pid, got)
		}
		return
	}
	t.Skipf("no process got the number %d", c.Process.Pid)
}

func outputOf(t *testing.T, c *exec.Cmd) (output string, pid int) {
	t.Helper()
	out, err := c.Output()
	noError(t, err)
	return string(out), c.Process.Pid
}
