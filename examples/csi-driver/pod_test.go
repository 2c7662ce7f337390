// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

const gib = 1 << 30

// TestPods plays kubelet's calls for pods that come and go, of which each is disturbed somehow: the plugin, the agent
// or the node's power ends, or a connection breaks. Whatever happens, the calls succeed when kubelet repeats them, the
// pods find their data, and nothing is left on the node.
func TestPods(t *testing.T) {
	if testnode.OnWine() && !testnode.Long() {
		t.Skip("processes start slowly on Wine: CSI_PROXY_LONG=1 runs this there")
	}
	runs := 1
	switch os.Getenv("CSI_PROXY_LONG") {
	case "":
	case "all":
		runs = 100
	default:
		runs = 4
	}
	for seed := range runs {
		t.Run(fmt.Sprintf("iSCSI, seed %d", seed), func(t *testing.T) {
			iscsiLife(t, rand.New(rand.NewPCG(uint64(seed), 2)))
		})
		t.Run(fmt.Sprintf("disk, seed %d", seed), func(t *testing.T) {
			diskLife(t, rand.New(rand.NewPCG(uint64(seed), 0)))
		})
		t.Run(fmt.Sprintf("share, seed %d", seed), func(t *testing.T) {
			shareLife(t, rand.New(rand.NewPCG(uint64(seed), 1)))
		})
	}
}

// diskLife is the life of a volume on a disk.
func diskLife(t *testing.T, random *rand.Rand) {
	k := &kubelet{machine: startMachine(t), volumeID: "vol-0a1b2c3d4e5f60718"}
	d := newInjector(k, random)
	attach := csiproxytest.Disk{SizeBytes: gib, SerialNumber: "vol0a1b2c3d4e5f60718", Offline: true}
	disk := k.AttachDisk(attach)
	k.mountDevice()
	d.remount = func() { k.mountDevice() }
	k.setUp("a")
	d.remount = func() { k.mountDevice(); k.setUp("a") }
	k.write("a", "logs", "of a")
	d.remount()  // kubelet starts again with the pods that it finds
	k.setUp("b") // a second pod
	d.remount = func() { k.mountDevice(); k.setUp("a"); k.setUp("b") }
	k.read("b", "logs", "of a")

	before := k.stats("a")
	k.GrowDisk(disk, 2*gib)
	size := k.expand("a", 2*gib)
	if after := k.stats("b"); after < before+gib-1<<20 || size != 2*gib {
		t.Errorf("the volume had %d bytes, has %d after 1 GiB more, and NodeExpandVolume returned %d", before, after, size)
	}
	k.tearDown("a")
	d.remount = func() { k.mountDevice(); k.setUp("b") }
	k.read("b", "logs", "of a")

	// The power fails, and the disk comes back after the agent: kubelet stages at a mount point that leads nowhere
	// (kubernetes #119401).
	attach.ImagePath, attach.SizeBytes = k.DetachDisk(disk), 0
	d.reboot()
	disk = k.AttachDisk(attach)
	d.remount()
	k.read("b", "logs", "of a")

	// The power fails, and the pod is another node's by then: kubelet removes what it finds of it, without the disk.
	attach.ImagePath = k.DetachDisk(disk)
	d.remount = func() {}
	d.reboot()
	k.tearDown("b")
	k.unmountDevice()
	k.gone("a", "b")

	// It comes back to this node.
	k.AttachDisk(attach)
	k.mountDevice()
	d.remount = func() { k.mountDevice() }
	k.setUp("c")
	d.remount = func() { k.mountDevice(); k.setUp("c") }
	k.read("c", "logs", "of a")
	k.tearDown("c")
	d.remount = func() { k.mountDevice() }
	k.unmountDevice()
	k.gone("a", "b", "c")
}

// shareLife is the life of a volume on a file server.
func shareLife(t *testing.T, random *rand.Rand) {
	k := &kubelet{
		machine: startMachine(t), volumeID: "share-1",
		context: map[string]string{"source": `\\fs.emulated\share`},
		secrets: map[string]string{"username": "csi", "password": "csi-password"},
	}
	d := newInjector(k, random)
	k.mountDevice()
	d.remount = func() { k.mountDevice() }
	k.setUp("a")
	d.remount = func() { k.mountDevice(); k.setUp("a") }
	k.write("a", "logs", "of a")
	// The mapping disappears under the pod. The next pod needs a new one.
	ask(k.machine, k.client.SMB.RemoveSmbGlobalMapping,
		&csiproxy.RemoveSmbGlobalMappingRequest{RemotePath: k.context["source"]})
	k.setUp("b")
	d.remount = func() { k.mountDevice(); k.setUp("a"); k.setUp("b") }
	k.read("b", "logs", "of a")
	d.reboot() // the mappings are gone, the links are not
	d.remount()
	k.read("a", "logs", "of a")
	k.tearDown("a")
	d.remount = func() { k.mountDevice(); k.setUp("b") }
	k.read("b", "logs", "of a")
	d.remount = func() {}
	d.reboot() // and the pod is another node's
	k.tearDown("b")
	k.unmountDevice()
	k.gone("a", "b")
	if left := k.facts().GetMappings(); len(left) > 0 {
		t.Errorf("mappings are left on the node: %v", left)
	}
}

// iscsiLife is the life of a volume at an iSCSI target.
func iscsiLife(t *testing.T, random *rand.Rand) {
	k := &kubelet{
		machine: startMachine(t), volumeID: "192.0.2.10:3260,iqn.2026-01.emulated:chap,0",
		secrets: map[string]string{"username": "csi-user", "password": "chap-secret-123"},
	}
	d := newInjector(k, random)
	k.mountDevice()
	d.remount = func() { k.mountDevice() }
	k.setUp("a")
	d.remount = func() { k.mountDevice(); k.setUp("a") }
	k.write("a", "logs", "of a")
	d.reboot() // the session is gone
	d.remount()
	k.read("a", "logs", "of a")
	k.tearDown("a")
	d.remount = func() { k.mountDevice() }
	k.unmountDevice()
	k.gone("a")
	if left := k.facts().GetSessions(); len(left) > 0 {
		t.Errorf("sessions are left on the node: %v", left)
	}
	k.mountDevice()
	k.setUp("b")
	k.read("b", "logs", "of a")
	d.remount = func() {}
	d.reboot() // and the pod is another node's
	k.tearDown("b")
	k.unmountDevice()
	k.gone("b")
}

// A injector disturbs the calls of a kubelet.
type injector struct {
	*kubelet

	random  *rand.Rand
	quiet   bool   // while it repairs
	remount func() // makes kubelet's calls for the pods that are on the node, as after a reboot
}

// newInjector makes a disturber and gives it to the kubelet.
func newInjector(k *kubelet, random *rand.Rand) *injector {
	d := &injector{kubelet: k, random: random, remount: func() {}}
	k.injectFault = d.injectFault
	return d
}

// injectFault does something before a call, or has it happen during the call, and returns what is to be done
// afterwards.
func (d *injector) injectFault(operation string) (over func()) {
	nothing := func() {}
	if d.quiet {
		return nothing
	}
	skip := uint32(d.random.IntN(8)) // API calls of the plugin that pass first
	what := d.random.IntN(7)
	d.t.Logf("%s: disturbance %d, after %d calls", operation, what, skip)
	switch what {
	case 0:
		d.plugin.Kill()
		d.startPlugin()
	case 1:
		d.agent.Kill()
		d.startAgent()
	case 2:
		d.reboot()
		d.withoutFaults(d.remount)
	case 3:
		return d.fault(&nodeapi.Fault{Method: "*", Skip: skip, Times: 1, Cut: true, AfterEffect: skip%2 == 0})
	case 4:
		return d.fault(&nodeapi.Fault{Method: "*", Skip: skip, Times: 1,
			Status: "INTERNAL", Message: "disturbed", AfterEffect: skip%2 == 0})
	case 5:
		return d.crash(skip)
	}
	return nothing
}

// fault disturbs an API call of the plugin.
func (d *injector) fault(f *nodeapi.Fault) (over func()) {
	d.t.Helper()
	ask(d.machine, d.Admin.AddFault, &nodeapi.AddFaultRequest{Fault: f})
	return func() { d.t.Helper(); ask(d.machine, d.Admin.RemoveFault, &nodeapi.RemoveFaultRequest{}) }
}

// crash makes the agent die during the call, and starts it again. The plugin waits for it.
func (d *injector) crash(skip uint32) (over func()) {
	d.t.Helper()
	ask(d.machine, d.Admin.AddFault, &nodeapi.AddFaultRequest{Fault: &nodeapi.Fault{
		Method: "*", Skip: skip, Times: 1, Crash: true, AfterEffect: skip%2 == 0,
	}})
	dying, called, restarted := d.agent, make(chan struct{}), make(chan bool)
	go func() {
		select {
		case <-dying.Ended:
			d.startAgent()
			restarted <- true
		case <-called: // it made fewer calls, or the last one is the agent's end
			restarted <- false
		}
	}()
	return func() {
		d.t.Helper()
		close(called)
		if <-restarted {
			return
		}
		if _, err := d.Admin.RemoveFault(context.Background(), &nodeapi.RemoveFaultRequest{}); err != nil {
			<-dying.Ended
			d.startAgent()
		}
	}
}

// reboot ends the power of the node. The plugin's process ends with it.
func (d *injector) reboot() {
	d.t.Helper()
	d.plugin.Kill()
	ask(d.machine, d.Admin.Reboot, &nodeapi.RebootRequest{})
	d.startPlugin()
}

func (d *injector) withoutFaults(f func()) {
	d.quiet = true
	f()
	d.quiet = false
}
