// SPDX-License-Identifier: Apache-2.0

//go:build unix

package operation

import (
	"syscall"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/dial"
)

// stops are the ways in which an agent ends: as a DaemonSet's or a service's does, and as one that crashes.
func stops() []stop {
	return []stop{{"stopped", true, (*agentProcess).terminate}, {"killed", false, (*agentProcess).kill}}
}

// terminate asks the agent to stop and returns when it is gone.
func (a *agentProcess) terminate() {
	_ = a.command.Process.Signal(syscall.SIGTERM)
	<-a.ended
}

// meet lets this process's clients and the agents that it starts meet in one place.
func meet(t *testing.T) {
	t.Helper()
	t.Setenv(dial.SocketDirVariable, shortDir(t))
}
