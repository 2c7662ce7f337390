// SPDX-License-Identifier: Apache-2.0

//go:build unix

package operation

import (
	"syscall"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// stops returns the ways in which an agent ends: stopped as a DaemonSet or a service stops it, and crashed.
func stops() []stop {
	return []stop{{"stopped", true, terminate}, {"killed", false, (*testnode.Process).Kill}}
}

// terminate asks the agent to stop and returns when it is gone.
func terminate(a *testnode.Process) {
	_ = a.Command.Process.Signal(syscall.SIGTERM)
	<-a.Ended
}

// meet makes this process's clients and the agents that it starts use the same place.
func meet(t *testing.T) {
	t.Helper()
	t.Setenv(dial.SocketDirVariable, testnode.ShortDir(t))
}
