// SPDX-License-Identifier: Apache-2.0

package testnode

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/windows"
)

// AgentVariable names the environment variable that chooses the agent on the machine that the tests run on: child, a
// process that the test starts, which is also what none means; in-process, in the test's own process; service, one that
// is running already.
const AgentVariable = "CSI_PROXY_TEST_AGENT"

// local is the connection to the agent in this process, while there is one: a machine has one agent.
var local atomic.Pointer[grpc.ClientConnInterface]

// OnMachine makes sure that an agent of these tests serves the machine's own pipes, with the machine itself as its
// node, until the test ends. A test that is part of another uses that one's agent. Another agent's pipes fail the test
// before it calls anything.
func OnMachine(t testing.TB) {
	t.Helper()
	err := NoOther(t, adminPipe)
	if err == nil {
		return
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	switch how := os.Getenv(AgentVariable); how {
	case "", "child":
		p := Launch(t, "-v=4")
		t.Cleanup(func() { // before the agent is killed
			select {
			case <-p.Ended:
				t.Error("the agent ended during the test: what was called later may have been another one")
			default:
			}
		})
	case "in-process":
		startHere(t)
	case "service":
		t.Fatalf("%s=%s, but no agent is running: %v", AgentVariable, how, err)
	default:
		t.Fatalf("%s is %q, not child, in-process or service", AgentVariable, how)
	}
}

// InProcess returns the connection to the machine's agent in this process, nil if it is not in this process.
func InProcess() grpc.ClientConnInterface {
	if conn := local.Load(); conn != nil {
		return *conn
	}
	return nil
}

// startHere starts an agent as the command does without flags.
func startHere(t testing.TB) {
	t.Helper()
	a, err := agent.Start(t.Context(), agent.Config{
		Kernel: windows.New(), Interceptor: recorder(t), RequirePrivacy: true, RecordsDir: t.TempDir(),
	})
	if err != nil {
		t.Fatalf("starting the agent: %v", err)
	}
	conn := a.Local()
	local.Store(&conn)
	t.Cleanup(func() {
		local.Store(nil)
		if err := a.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
