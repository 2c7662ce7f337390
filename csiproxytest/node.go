// SPDX-License-Identifier: Apache-2.0

// Package csiproxytest gives the test of a CSI driver a Windows node with a CSI Proxy agent on any machine, at unix
// sockets, or at named pipes on Windows. The agent is the real one, with all its API groups and versions; the node is
// made of files in a temporary directory, and the test plays its hardware, its cloud and its file servers.
//
// A driver on package mounter gets mounter.New(node.Client()), from [Node.Client]. One that takes clients of single
// groups as arguments gets those of a [Node], or any version of them from the function [Client]. A driver that opens
// its clients itself, with NewClient of the client packages, finds the node after Setenv; one that is not written in Go
// finds the sockets in SocketDir, or in the environment variable CSI_PROXY_SOCKET_DIR that Setenv sets. On Windows a
// node has pipes with names of its own, unless Options.PlainPipes asks for those that drivers open.
//
// With CSI_PROXY_TEST_NODE=windows the node is the Windows machine on which the test runs, elevated. The agent works in
// the test's process on the real kernel; with CSI_PROXY_TEST_NODE=agent it is the one that runs there. A disk is then a
// VHDX, a share one of the machine, and the test's paths are below [Node.KubeletDir]. A method that needs an
// emulated node skips the test: faults, reboots, the journal. The agent in the test's process changes only
// disks that the test attached; after a running agent, others are compared. Use a machine that may be lost.
//
// When a test fails, its log shows the last API calls, with the Windows functions of those that failed, and the node's
// disks, in at most 200 lines. The whole journal is kept in a file. A test that passes prints nothing.
package csiproxytest

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kubernetes-csi/csi-proxy/client/dial"
	disk "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v2alpha1"
	iscsi "github.com/kubernetes-csi/csi-proxy/client/groups/iscsi/v1alpha2"
	smb "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1"
	system "github.com/kubernetes-csi/csi-proxy/client/groups/system/v1alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/emulation"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

// stopLimit is how long a test waits at its end for operations that it left running on the node.
const stopLimit = time.Minute

// Options configure a node. The zero value is usable.
type Options struct {
	// StateDir is the node's directory, made if it is missing. A node that an earlier test left there goes on. Its path
	// must be short, at most about 60 bytes, as the sockets are in it. Empty: a temporary directory.
	StateDir string
	// Scenario describes a new node: the path of a scenario file, or the name of a profile, as in the agent's flag
	// -scenario. Empty: the default node.
	Scenario string
	// WorkingDirs are Windows directories below which the agent works, besides kubelet's.
	WorkingDirs []string
	// PlainSMB turns off the requirement of encryption on SMB global mappings.
	PlainSMB bool
	// EraseOnFormat lets FormatVolume erase the files of an NTFS volume, as the agent's flag -erase-on-format does.
	EraseOnFormat bool
	// WindowsTiming makes operations take about as long as on Windows: a driver's time-outs meet formats of
	// seconds. SetSwitch("timing", …) changes it.
	WindowsTiming bool
	// PlainPipes, on Windows, serves at the pipes that clients open by default, as Setenv needs: a machine can have one
	// such node at a time, and none beside an agent. Otherwise a node's pipes have names of their own. Elsewhere it does
	// nothing.
	PlainPipes bool
	// APIs selects what the agent serves, as its flag -api does, such as "nodesteps=off": a driver meets an agent that has
	// no more.
	APIs []string
	// Logger gets the agent's log. The zero value: the log is kept, and shown if the test fails.
	Logger klog.Logger
}

// A Node is a running agent on a Windows node. An emulated one has by default a system disk (0), a blank online disk
// (1) of 10 GiB and a blank offline one (2) of 20 GiB, file servers with an account, and an iSCSI portal. Its methods
// end the test when they fail, so they must be called from the test's own goroutine.
type Node struct {
	// Clients of the newest versions. They live as long as the node, even through Reboot.
	Disk       *disk.Client
	Filesystem *filesystem.Client
	ISCSI      *iscsi.Client
	SMB        *smb.Client
	System     *system.Client
	Volume     *volume.Client

	t        testing.TB
	agent    servingAgent
	machine  nodeMachine
	emulated *emulation.Agent // the agent; nil on a real node
	kubelet  string           // what KubeletDir returns
	plain    bool             // Options.PlainPipes
	log      *logLines        // the agent's log; nil: the caller keeps it
	logger   klog.Logger
	reported bool // a part of the test has shown the node already
}

// Start starts a node for a test, and stops it when the test and its subtests end. Nodes are independent of each other:
// a test may have several, and tests with nodes may run in parallel.
func Start(t testing.TB, o Options) *Node {
	t.Helper()
	if kind := nodeKind(t); kind != "" {
		return startReal(t, o, kind)
	}
	return start(t, o, func(*scenario.Scenario) {})
}

// start is Start with a scenario that is edited.
func start(t testing.TB, o Options, edit func(*scenario.Scenario)) *Node {
	t.Helper()
	if o.StateDir == "" {
		o.StateDir = tempDir(t)
	}
	described := scenario.Default()
	if o.Scenario != "" {
		var err error
		if described, err = scenario.Load(o.Scenario); err != nil {
			t.Fatal(err)
		}
	}
	edit(&described)
	log := o.keepLog(besideJournal)
	a, err := emulation.Start(context.Background(), emulation.Config{
		StateDir: o.StateDir, Node: emulated.Options{Scenario: &described},
		Config: agent.Config{
			Transport: transport.Options{PipePrefix: pipePrefix(o)},
			Node:      o.config(node.KubeletDir),
			APIs:      o.served(t), Server: server.Options{Logger: o.Logger},
		},
	})
	if err != nil {
		t.Fatalf("starting the node: %v", err)
	}
	n := FromAgent(t, a)
	n.plain, n.log, n.logger = o.PlainPipes, log, o.Logger
	if o.WindowsTiming {
		n.SetSwitch("timing", string(scenario.TimingWindows))
	}
	return n
}

// config returns how the node's operations are done.
func (o *Options) config(kubelet string) node.Config {
	return node.Config{WorkingDirs: append([]string{kubelet}, o.WorkingDirs...), RequirePrivacy: !o.PlainSMB,
		EraseOnFormat: o.EraseOnFormat}
}

// keepLog returns where the log of an agent with these options is kept; nil: the caller keeps it.
func (o *Options) keepLog(verbosity int) *logLines {
	if o.Logger.GetSink() != nil {
		return nil
	}
	log := &logLines{}
	o.Logger = textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log), textlogger.Verbosity(verbosity)))
	return log
}

// served returns what APIs selects.
func (o *Options) served(t testing.TB) *apis.Selection {
	t.Helper()
	served := &apis.Selection{}
	for _, one := range o.APIs {
		if err := served.Set(one); err != nil {
			t.Fatalf("Options.APIs: %v", err)
		}
	}
	return served
}

// tempDir makes a temporary directory with a path short enough for unix sockets, whatever the test's name.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "csi") //nolint:usetesting // t.TempDir has the test's name in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// LogState writes to the test's log what a failed test shows of its node at its end: the last calls, the storage and
// the end of the agent's log. It does so once.
func (n *Node) LogState() {
	n.t.Helper()
	if !n.reported {
		n.t.Logf("the node of the failed test:\n%s", n.report())
		n.reported = true
	}
}

func (n *Node) stop() {
	if n.t.Failed() {
		n.LogState()
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	if n.emulated != nil {
		n.emulated.EndFaults() // the test is over: what it holds need not end by itself
	}
	if err := n.agent.Stop(ctx); err != nil {
		n.t.Errorf("stopping the node: %v", err)
	}
}

// pipePrefix returns a prefix that makes a node's pipes its own.
func pipePrefix(o Options) string {
	if o.PlainPipes {
		return ""
	}
	return "csiproxytest-" + rand.Text() + "-"
}

// SocketDir returns the directory of the agent's sockets; empty on Windows.
func (n *Node) SocketDir() string {
	if runtime.GOOS == "windows" {
		return ""
	}
	return filepath.Dir(n.agent.Path("any"))
}

// Socket returns the path of the socket, on Windows of the pipe, of an API group's version: "disk", "v1".
func (n *Node) Socket(group, version string) string {
	return n.agent.Path("csi-proxy-" + group + "-" + version)
}

// Setenv makes clients that are opened without a path, in this process and its children, find the node until the test
// ends. The environment belongs to the whole process, so a parallel test cannot use it. On Windows such clients know
// only one set of names: the node must have been started with Options.PlainPipes.
func (n *Node) Setenv() {
	n.t.Helper()
	if runtime.GOOS == "windows" && !n.plain {
		n.t.Fatal("on Windows, start the node with Options.PlainPipes: clients without a path open the plain pipes")
	}
	n.t.Setenv(dial.SocketDirVariable, n.SocketDir())
}
