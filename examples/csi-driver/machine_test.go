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
	"google.golang.org/protobuf/types/known/structpb"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/csisanity"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
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
	t       *testing.T
	dir     string
	agent   *testnode.Process
	plugin  *testnode.Process
	address string // of the plugin
	admin   *adminclient.Client
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
	connection, err := adminclient.Dial(context.Background(), m.sockets())
	m.must("connecting to the agent", err)
	m.t.Cleanup(func() { _ = connection.Close() })
	m.admin = connection
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

func (*machine) KubeletDir() string { return `C:\var\lib\kubelet` }

func (*machine) FileServer() csiproxytest.FileServer {
	return csiproxytest.FileServer{Name: "fs.emulated", User: "csi", Password: "csi-password"}
}

// ask makes a call of the agent, which must succeed.
func ask[Q, A any](m *machine, method func(context.Context, *Q, ...grpc.CallOption) (*A, error), request *Q) *A {
	m.t.Helper()
	answer, err := method(context.Background(), request)
	m.must(fmt.Sprintf("%T", request), err)
	return answer
}

func (m *machine) AttachDisk(d csiproxytest.Disk) uint32 {
	m.t.Helper()
	disk := map[string]any{"serial": d.SerialNumber, "offline": d.Offline}
	if d.SizeBytes > 0 {
		disk["size"] = d.SizeBytes
	}
	if d.ImagePath != "" {
		disk["image"] = d.ImagePath
	}
	return m.disk(ask(m, m.admin.Add, &nodeapi.AddRequest{Document: nodeapi.Document("disks", disk)}).GetDocument()).Number
}

func (m *machine) DetachDisk(number uint32) string {
	m.t.Helper()
	return m.disk(ask(m, m.admin.Remove, &nodeapi.RemoveRequest{
		Document: nodeapi.Document("disks", map[string]any{"number": number})}).GetDocument()).Image
}

// disk returns the only disk of the agent's answer.
func (m *machine) disk(document *structpb.Struct) answered {
	m.t.Helper()
	disks, err := nodeapi.Part[[1]answered](document, "disks")
	m.must("reading the answer", err)
	return disks[0]
}

// answered is a disk as the agent's answers name it.
type answered struct {
	Number uint32
	Image  string
}

func (m *machine) GrowDisk(number uint32, sizeBytes int64) {
	m.t.Helper()
	ask(m, m.admin.Change, &nodeapi.ChangeRequest{
		Document: nodeapi.Document("disks", map[string]any{"number": number, "size": sizeBytes})})
}

func (m *machine) AddSMBShare(server, share string, users ...string) {
	m.t.Helper()
	ask(m, m.admin.Add, &nodeapi.AddRequest{Document: nodeapi.Document("smbServers",
		map[string]any{"name": server, "shares": []map[string]any{{"name": share, "users": append([]string{}, users...)}}})})
}

func (m *machine) RemoveSMBShare(server, share string) {
	m.t.Helper()
	ask(m, m.admin.Remove, &nodeapi.RemoveRequest{Document: nodeapi.Document("smbServers",
		map[string]any{"name": server, "shares": []map[string]any{{"name": share}}})})
}
