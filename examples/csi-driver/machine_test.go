// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/csisanity"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// pluginVariable makes this test program be the plugin.
const pluginVariable = "CSI_DRIVER_EXAMPLE"

func TestMain(m *testing.M) {
	if os.Getenv(pluginVariable) != "" {
		main()
		return
	}
	os.Exit(testnode.Main(m))
}

// machine is an emulated node on which the agent and the plugin are processes of their own.
type machine struct {
	testnode.Controlled
	t       *testing.T
	dir     string
	agent   *testnode.Process
	plugin  *testnode.Process
	address string // of the plugin
	client  *csiproxy.Client
}

var _ csisanity.Node = (*machine)(nil)

// startMachine starts both programs. On Windows the pipes belong to the whole machine, so there is one at a time.
func startMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, dir: testnode.ShortDir(t)}
	m.client = csiproxy.New(csiproxy.Options{SocketDir: m.sockets()})
	t.Cleanup(func() { _ = m.client.Close() })
	m.startAgent()
	m.startPlugin()
	return m
}

func (m *machine) sockets() string {
	if runtime.GOOS == "windows" {
		return ""
	}
	return filepath.Join(m.dir, "run")
}

func (m *machine) startAgent() {
	m.t.Helper()
	m.agent = testnode.LaunchEmulated(m.t, "-state-dir="+m.dir)
	m.Controlled = testnode.Control(m.t, m.sockets())
}

func (m *machine) startPlugin() {
	m.t.Helper()
	command := exec.Command(os.Args[0], "-endpoint=tcp://127.0.0.1:0", "-node-id=node-1")
	command.Env = append(os.Environ(), pluginVariable+"=1", dial.SocketDirVariable+"="+m.sockets())
	m.plugin = testnode.BeginCommand(m.t, command)
	m.address = strings.TrimPrefix(m.plugin.Ready(), "ready at ")
}

// connect connects to the plugin, as kubelet does for every call.
func (m *machine) connect() *grpc.ClientConn {
	m.t.Helper()
	connection, err := grpc.NewClient(m.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	m.must("connecting to the plugin", err)
	return connection
}

func (m *machine) must(what string, err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatalf("%s: %v", what, err)
	}
}

func (m *machine) Client() *csiproxy.Client { return m.client }

// ask makes a call of the agent, which must succeed.
func ask[Q, A any](m *machine, method func(context.Context, *Q, ...grpc.CallOption) (*A, error), request *Q) *A {
	m.t.Helper()
	answer, err := method(context.Background(), request)
	m.must(fmt.Sprintf("%T", request), err)
	return answer
}
