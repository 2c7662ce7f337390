// SPDX-License-Identifier: Apache-2.0

package testnode

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/winservice"
)

// A machine has one set of pipes, and the process that has taken a name serves it: a DaemonSet's agent that comes while
// the tests run, between two agents of theirs, would get calls that partition disks and remove trees. So a pipe is
// called only after its server is known.

// adminPipe is the pipe of an agent's admin endpoint.
const adminPipe = `\\.\pipe\csiproxy-admin`

// NoOther returns an error unless the agent that serves a pipe is one that these tests started: in this process, as its
// child, or, if CSI_PROXY_TEST_AGENT says so, as the service of the program that they test.
func NoOther(t testing.TB, pipe string) error {
	t.Helper()
	server, err := transport.ServerOf(t.Context(), pipe)
	if err != nil {
		return err
	}
	if pid := int(server.PID); pid == os.Getpid() || started.has(pid) {
		return nil
	}
	if os.Getenv(AgentVariable) == "service" {
		own, err := servicePID(Command(t, "csi-proxy"))
		if err != nil || own == server.PID {
			return err
		}
	}
	return fmt.Errorf("%s is served by %v, which these tests did not start: another agent runs on this machine, and "+
		"nothing was called there; stop it first", pipe, server)
}

// has reports whether a process is one of this test program's agents.
func (p *processes) has(pid int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pids[pid]
}

// servicePID returns the process of the service csiproxy, which must have the program that these tests try.
func servicePID(program string) (pid uint32, err error) {
	const name = "csiproxy"
	scm, err := winservice.Connect()
	if err != nil {
		return 0, err
	}
	defer func() { _ = scm.Close() }()
	installed, err := scm.Query(name)
	if err != nil {
		return 0, fmt.Errorf("the service %s: %w", name, err)
	}
	if len(installed.Command) == 0 || !strings.EqualFold(installed.Command[0], program) {
		return 0, fmt.Errorf("the service %s has the program %q, and these tests try %s", name, installed.Command, program)
	}
	return installed.PID, nil
}
