// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/admission"
	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

// controlGroup makes a control group of version 2, as a container has one.
func controlGroup(t *testing.T) *os.File {
	t.Helper()
	for _, root := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		path := filepath.Join(root, fmt.Sprintf("csi-proxy-test-%d", os.Getpid()))
		if os.Mkdir(path, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { eventually(t, "the control group is removed", func() bool { return os.Remove(path) == nil }) })
		if _, err := os.Stat(filepath.Join(path, "cgroup.events")); err != nil { // of version 2 only
			continue
		}
		group, err := os.Open(path)
		noError(t, err)
		t.Cleanup(func() { _ = group.Close() })
		return group
	}
	t.Skip("a control group of version 2 cannot be made here")
	return nil
}

// The children of a container, all alive, have as many places together as one process.
func TestChildrenOfAContainer(t *testing.T) {
	if !testnode.Long() {
		t.Skip("make test-long runs it")
	}
	group := controlGroup(t)
	g := attack(t, testnode.Options{Metrics: true, Limits: admission.Limits{Wait: 20 * time.Millisecond}})
	_, release := g.Faults.HangAll("OpenFile")
	defer release()
	const children = 4
	before := g.metric("csi_proxy_calls_total")
	for range children {
		c := g.another(childSocket, g.Socket("filesystem", "v2alpha1"))
		c.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd())}
		input, err := c.StdinPipe()
		noError(t, err)
		noError(t, c.Start())
		t.Cleanup(func() { _ = input.Close(); _ = c.Wait() })
	}
	eventually(t, "their calls hang or are refused", func() bool {
		begun := g.metric("csi_proxy_calls_total") + g.metric("csi_proxy_calls_in_flight") - before
		return begun >= children*childCalls && g.metric("csi_proxy_calls_queued") == 0
	})
	// A few less while refusals were on their way, which count as calls until they are taken.
	if got := g.metric("csi_proxy_call_places_taken"); got == 0 || got > childCalls {
		t.Errorf("%d children have %d places, want no more than %d, as one process", children, got, childCalls)
	}
	output, err := g.another(driverSocket, g.Socket("disk", "v1")).Output()
	if string(output) != "OK\n" || err != nil {
		t.Errorf("a driver of the node gets %q, %v", output, err)
	}
}
