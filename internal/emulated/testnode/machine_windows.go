// SPDX-License-Identifier: Apache-2.0

package testnode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	winio "github.com/Microsoft/go-winio"
	syswindows "golang.org/x/sys/windows"
	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winservice"
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
		Kernel: windows.New(), RequirePrivacy: true, RecordsDir: t.TempDir(),
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
	pid := int(server.PID)
	if _, own := started.Load(pid); own || pid == os.Getpid() {
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

// DialRaw connects to the address returned by Socket, and sends nothing.
func DialRaw(ctx context.Context, pipe string) (net.Conn, error) {
	return winio.DialPipeContext(ctx, pipe)
}

// OnWine reports whether the tests run under Wine, which also counts as Windows.
func OnWine() bool {
	return syswindows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}
