// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"k8s.io/klog/v2"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/emulation"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
)

// A servingAgent is the agent of a node, in this process or another one.
type servingAgent interface {
	Path(endpoint string) string
	Stop(ctx context.Context) error
}

// A nodeMachine is the machine of a node, past its agent: an emulated one, or this one.
type nodeMachine interface {
	kernel.Kernel
	DetachDisk(number uint32) (image string, err error)
	GrowDisk(number uint32, sizeBytes int64) error
	SetDiskOnline(number uint32, online bool) error
	SetDiskReadOnly(number uint32, readOnly bool) error
	HostPath(windowsPath string) (string, error)
	Readlink(windowsPath string) (string, error)
	AddSMBShare(server, share string, users []string) error
	RemoveSMBShare(server, share string) error
}

// A realMachine is this one.
type realMachine interface {
	nodeMachine
	attach(d Disk) (number uint32, err error)
	fileServer() (FileServer, error)
	guarded() kernel.Kernel // for the agent of a test
	owns(disk uint32) bool
}

// The values of machine.NodeVariable besides none.
const (
	withAgentHere    = "windows" // this machine, with an agent in the test's process
	withRunningAgent = "agent"   // this machine, with the agent that runs there
)

// nodeKind returns what the environment chooses; empty: an emulated node.
func nodeKind(t testing.TB) string {
	t.Helper()
	kind := os.Getenv(machine.NodeVariable)
	if kind != "" && kind != withAgentHere && kind != withRunningAgent {
		t.Fatalf("%s=%s: use %s, %s or nothing", machine.NodeVariable, kind, withAgentHere, withRunningAgent)
	}
	return kind
}

// onlyEmulated is why a test is skipped, with what it needs and the kind of node.
const onlyEmulated = "%s needs an emulated node, and " + machine.NodeVariable + "=%s is a real one"

// emulation returns the agent of an emulated node. On a real one it skips the test, with the method that was called.
func (n *Node) emulation() *emulation.Agent {
	n.t.Helper()
	if n.emulated == nil {
		n.t.Skipf(onlyEmulated, calledMethod(), os.Getenv(machine.NodeVariable))
	}
	return n.emulated
}

func (n *Node) node() *emulated.Node { n.t.Helper(); return n.emulation().Emulated }

// calledMethod returns the method of a Node that the test called: "Node.Reboot".
func calledMethod() (method string) {
	callers := make([]uintptr, 16)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		frame, more := frames.Next()
		name, of := strings.CutPrefix(frame.Function[strings.LastIndexByte(frame.Function, '/')+1:], "csiproxytest.(*")
		if !of || !more {
			return method
		}
		method = strings.Replace(name, ")", "", 1)
	}
}

// KubeletDir returns the directory below which the paths of a test are: C:\var\lib\kubelet, or on a real node a
// directory of the test's own below that, which goes when the test ends.
func (n *Node) KubeletDir() string { return n.kubelet }

// startReal starts a test on this machine.
func startReal(t testing.TB, o Options, kind string) *Node {
	t.Helper()
	for name, set := range map[string]bool{
		"StateDir": o.StateDir != "", "Scenario": o.Scenario != "", "WindowsTiming": o.WindowsTiming,
	} {
		if set {
			t.Skipf(onlyEmulated, "Options."+name, kind)
		}
	}
	n := &Node{t: t, kubelet: node.KubeletDir + `\` + machine.RandomName()}
	n.plain = o.PlainPipes || kind == withRunningAgent
	m, err := openMachine(t, n.kubelet, kind == withAgentHere)
	n.must("preparing this machine", err)
	n.machine = m
	if kind == withRunningAgent {
		if o.PlainSMB || o.EraseOnFormat || len(o.APIs)+len(o.WorkingDirs) > 0 {
			t.Skipf("%s=%s: the agent that runs has options of its own", machine.NodeVariable, kind)
		}
		n.agent = runningAgent{}
	} else {
		n.log = o.keepLog(withoutJournal)
		n.logger = o.Logger
		config := agent.Config{Kernel: m.guarded(), Node: o.config(n.kubelet), APIs: o.served(t),
			Transport: transport.Options{PipePrefix: pipePrefix(o)}, Server: server.Options{Logger: o.Logger}}
		config.Node.Records = t.TempDir()
		n.agent, err = agent.Start(context.Background(), config)
		n.must("starting the agent", err)
	}
	t.Cleanup(n.stop)
	before := n.foreignDisks(m)
	t.Cleanup(func() {
		for disk, after := range n.foreignDisks(m) {
			if was, known := before[disk]; known && was != after {
				t.Errorf("%s, which the test did not attach, has changed from %s to %s", disk, was, after)
			}
		}
	})
	n.Reconnect()
	return n
}

// foreignDisks returns the state of the machine's disks that are no files, as those of tests are, by their identity.
func (n *Node) foreignDisks(m realMachine) map[string]string {
	n.t.Helper()
	disks := map[string]string{}
	for _, d := range treeview.FromFacts(n.Facts()).Disks {
		if m.owns(d.Number) || d.BusType == "file-backed virtual" {
			continue
		}
		var state strings.Builder
		fmt.Fprintf(&state, "%s online %t read-only %t", d.Style, d.IsOnline(), d.IsReadOnly())
		for _, p := range d.Partitions {
			fmt.Fprintf(&state, "; %d bytes at %d", p.SizeBytes, p.OffsetBytes)
			if p.Volume != nil {
				state.WriteString(": " + p.Volume.FileSystem)
			}
		}
		disks[fmt.Sprintf("disk %d %q %q", d.Number, d.SerialNumber, d.Page83)] = state.String()
	}
	return disks
}

// runningAgent is the agent that runs on this machine.
type runningAgent struct{}

func (runningAgent) Path(endpoint string) string { return `\\.\pipe\` + endpoint }
func (runningAgent) Stop(context.Context) error  { return nil }

// attachReal attaches a disk to this machine.
func (n *Node) attachReal(m realMachine, d Disk) (number uint32) {
	n.t.Helper()
	if d.NVMe || d.Adapter != 0 || d.Bus != 0 || d.Target != 0 || d.BundlePath != "" {
		n.t.Skipf(onlyEmulated, "a disk at a chosen address or bus, or of a bundle,", os.Getenv(machine.NodeVariable))
	}
	number, err := m.attach(d)
	n.must("attaching a disk", err)
	if d.Formatted && d.ImagePath == "" {
		n.must("formatting a disk", n.format(number))
	}
	if d.Offline {
		n.SetDiskOnline(number, false)
	}
	if d.ReadOnly {
		n.SetDiskReadOnly(number, true)
	}
	return number
}

// format makes a volume on a new disk.
func (n *Node) format(number uint32) error {
	ctx := klog.NewContext(n.t.Context(), n.logger)
	if _, err := n.Disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number}); err != nil {
		return err
	}
	volumes, err := n.Volume.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: number})
	if err != nil {
		return err
	}
	_, err = n.Volume.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeId: volumes.GetVolumeIds()[0]})
	return err
}
