// SPDX-License-Identifier: Apache-2.0

package testnode

import (
	"context"
	"crypto/rand"
	"os"
	"testing"
	"time"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	disk "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v2alpha1"
	iscsi "github.com/kubernetes-csi/csi-proxy/client/groups/iscsi/v1alpha2"
	smb "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1"
	system "github.com/kubernetes-csi/csi-proxy/client/groups/system/v1alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v2alpha1"
	adminserver "github.com/kubernetes-csi/csi-proxy/internal/admin"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/admission"
	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// Node is a running agent on the default emulated node.
type Node struct {
	Agent    *agent.Agent
	Emulated *emulated.Node
	Faults   *Faults
	StateDir string

	Disk       *disk.Client
	Filesystem *filesystem.Client
	ISCSI      *iscsi.Client
	System     *system.Client
	Volume     *volume.Client
	SMB        *smb.Client

	t testing.TB
}

// Options change the node from the default one.
type Options struct {
	// StateDir is where the node lives; empty: a new temporary directory.
	StateDir string
	// Emulated are the emulated node's options.
	Emulated emulated.Options
	// WorkingDirs besides kubelet's directory.
	WorkingDirs []string
	// PlainSMB does not ask for encryption on SMB mappings.
	PlainSMB bool
	// Metrics makes the agent count; see agent.Agent.Metrics.
	Metrics bool
	// Limits bound what clients cost; see agent.Config.
	Limits admission.Limits
	// CallTimeout is how long every call may take; see agent.Config.
	CallTimeout time.Duration
	// Audit is told of every call; see agent.Config.
	Audit server.Record
}

// Start starts the agent and stops it when the test ends.
func Start(t testing.TB, o Options) *Node {
	t.Helper()
	if o.StateDir == "" {
		o.StateDir = tempDir(t)
	}
	o.Emulated.NoSync = true // the tests do not pull the plug of the host
	n := &Node{t: t, StateDir: o.StateDir, Faults: NewFaults()}
	var err error
	n.Agent, err = agent.Start(t.Context(), agent.Config{
		StateDir: o.StateDir, Emulated: o.Emulated, Interceptor: n.Faults.Intercept, PipePrefix: "test-" + rand.Text() + "-",
		WorkingDirs: append([]string{agent.KubeletDir}, o.WorkingDirs...), RequirePrivacy: !o.PlainSMB,
		Metrics: o.Metrics, Limits: o.Limits, CallTimeout: o.CallTimeout, Audit: o.Audit,
	})
	if err != nil {
		t.Fatalf("starting the agent: %v", err)
	}
	n.Emulated = n.Agent.Emulated()
	t.Cleanup(n.stop)
	n.connect()
	return n
}

func (n *Node) connect() {
	n.t.Helper()
	n.Disk = dial(n.t, n, "disk", "v1", disk.NewClientWithPipePath)
	n.Filesystem = dial(n.t, n, "filesystem", "v2alpha1", filesystem.NewClientWithPipePath)
	n.ISCSI = dial(n.t, n, "iscsi", "v1alpha2", iscsi.NewClientWithPipePath)
	n.System = dial(n.t, n, "system", "v1alpha1", system.NewClientWithPipePath)
	n.Volume = dial(n.t, n, "volume", "v2alpha1", volume.NewClientWithPipePath)
	n.SMB = dial(n.t, n, "smb", "v1", smb.NewClientWithPipePath)
}

// tempDir is a temporary directory with a path short enough for unix sockets, whatever the test is called.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "csi") //nolint:usetesting // t.TempDir has the test's name in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (n *Node) stop() {
	n.Faults.Release()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := n.Agent.Stop(ctx); err != nil {
		n.t.Errorf("stopping the agent: %v", err)
	}
}

// Socket is the path of an API's socket, or of its pipe on Windows.
func (n *Node) Socket(group, version string) string {
	return n.Agent.Path("csi-proxy-" + group + "-" + version)
}

// Admin connects to the node's admin endpoint, until the test ends.
func (n *Node) Admin(t testing.TB) *adminclient.Client {
	t.Helper()
	client, err := adminclient.DialPath(t.Context(), n.Agent.Path(adminserver.EndpointName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func dial[T interface{ Close() error }](t testing.TB, n *Node, group, version string, newClient func(string) (T, error)) T {
	t.Helper()
	client, err := newClient(n.Socket(group, version))
	if err != nil {
		t.Fatalf("dialling %s %s: %v", group, version, err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Reboot reboots the node; the clients are new ones afterwards, as a driver's would be.
func (n *Node) Reboot() {
	n.t.Helper()
	if err := n.Agent.Restart(n.t.Context()); err != nil {
		n.t.Fatal(err)
	}
	n.connect()
}

// HostPath is where a Windows path of the node lies on the host, links and mount points followed.
func (n *Node) HostPath(windowsPath string) string {
	n.t.Helper()
	path, err := n.Emulated.HostPath(windowsPath)
	if err != nil {
		n.t.Fatalf("host path of %s: %v", windowsPath, err)
	}
	return path
}

// WriteFile writes a file of the node as a workload on it would.
func (n *Node) WriteFile(windowsPath, content string) {
	n.t.Helper()
	if err := os.WriteFile(n.HostPath(windowsPath), []byte(content), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// ReadFile reads a file of the node as a workload on it would.
func (n *Node) ReadFile(windowsPath string) string {
	n.t.Helper()
	content, err := os.ReadFile(n.HostPath(windowsPath))
	if err != nil {
		n.t.Fatal(err)
	}
	return string(content)
}

// Tree is the node's storage as the admin endpoint shows it.
func (n *Node) Tree() *admin.GetTreeResponse {
	n.t.Helper()
	tree, err := n.Admin(n.t).GetTree(n.t.Context(), &admin.GetTreeRequest{})
	if err != nil {
		n.t.Fatal(err)
	}
	return tree
}
