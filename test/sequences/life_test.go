// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// The paths as kubelet makes them: the staging path without a drive, the publish path with one.
const (
	staging = `\var\lib\kubelet\plugins\kubernetes.io\csi\driver\0f3a\globalmount`
	publish = `c:\var\lib\kubelet\pods\6b0a\volumes\kubernetes.io~csi\pvc-1\mount`
)

// growBytes is by how much the disk grows in a life.
const growBytes = 1 << 30

// driver is a CSI driver's node service.
type driver interface {
	Stage(c *calls, staging string) error
	Publish(c *calls, staging, publish string) error
	// Stats returns zeros where the driver asks the system of its container.
	Stats(c *calls, publish string) (total, used int64, err error)
	Expand(c *calls, publish string, sizeBytes int64) error
	Unpublish(c *calls, publish string) error
	Unstage(c *calls, staging string) error
}

// registrar is a driver that asks the agent at start-up for the machine's identity.
type registrar interface {
	Register(c *calls) error
}

// subject is a driver with its disk, on the default node or on that of a profile.
type subject struct {
	name      string
	driver    driver
	profile   string
	disk      uint32
	sizeBytes int64
	// expandError is how growing in use always ends, if it cannot succeed.
	expandError error
	// staysOnline: the driver never takes a disk offline.
	staysOnline bool
	// kubeletMakes: kubelet makes the staging and the publish directory beforehand, as it does or did.
	kubeletMakes bool
}

func subjects() []subject {
	const size1, size2 = 10 << 30, 20 << 30
	return []subject{
		{name: "EBS, disk 1", driver: ebs{"vol-0123456789abcdef1"}, disk: 1, sizeBytes: size1, kubeletMakes: true},
		{name: "EBS, disk 2", driver: ebs{"vol-0123456789abcdef2"}, disk: 2, sizeBytes: size2},
		{name: "GCP, disk 1", driver: gcp{"60022480454d552d4449534b30303031", size1}, disk: 1,
			sizeBytes: size1, kubeletMakes: true},
		{name: "GCP, disk 2", driver: gcp{"disk-2", size2}, disk: 2, sizeBytes: size2},
		{name: "AzureDisk, disk 1", driver: azureDisk{"1"}, disk: 1, sizeBytes: size1, expandError: errAzureDiskNotGrown,
			staysOnline: true, kubeletMakes: true},
		{name: "AzureDisk, disk 2", driver: azureDisk{"2"}, disk: 2, sizeBytes: size2,
			expandError: errAzureDiskNotGrown, staysOnline: true},
		{name: "vSphere, disk 1", driver: vsphere{"60022480454d552d4449534b30303031"}, disk: 1,
			sizeBytes: size1, kubeletMakes: true},
		{name: "vSphere, disk 2", driver: vsphere{"EMULATED  disk-2"}, disk: 2, sizeBytes: size2},
		{
			name: "vSphere machine, disk 1", profile: "vsphere", disk: 1, sizeBytes: size1,
			driver: vsphereMachine{vsphere{"6000c2962ed0f5630da60edb30a9d864"}, "42296bf1-0c5d-8e34-a791-3e2cd854b07f"},
		},
	}
}

// life is one volume's time on a node of its own.
type life struct {
	subject
	*retriedLife

	observer *caller.Observer
	want     *life // the undisturbed life; nil: this is it

	counts    map[string]int // how often each operation was called
	snapshots map[string]snapshot
	stats     [2]int64
}

// snapshot is the state of a node at one moment, except random values.
type snapshot struct {
	Disks []treeview.Disk   // volume ids replaced by where the volume is
	Paths map[string]string // the entries below kubelet's directory: "directory", or where a link leads
	Stats [2]int64          // the driver's last NodeGetVolumeStats: total and used
}

// disturbance is what happens in one life: nothing, or one interrupted step.
type disturbance struct {
	interruption *interruption
	policy       *policy.Policy  // of the agent
	audit        server.Recorder // of its calls
}

// live plays a whole life. Compared with want, it must be in the same state at the same places. What a driver whose
// staging or unstaging was interrupted leaves is its own affair, as long as the next pod ends in the same state.
func (s subject) live(t *testing.T, d disturbance, want *life) *life {
	t.Helper()
	o := testnode.Options{Policy: d.policy, Audit: d.audit}
	if s.profile != "" {
		scenario, err := scenario.Load(s.profile)
		caller.OK(t, err)
		o.Emulated.Scenario = &scenario
	}
	l := &life{subject: s, retriedLife: newRetriedLife(t, o, d), want: want, counts: map[string]int{},
		snapshots: map[string]snapshot{}}
	l.observer = caller.Observe(t, l.node.Emulated)
	l.firstPod()
	l.secondPod()
	if d.interruption != nil {
		l.calls.interruption = nil
		l.secondPod()
	}
	return l
}

// firstPod uses the raw disk for the first time, grows it in use and gives it up.
func (l *life) firstPod() {
	l.t.Helper()
	l.register()
	l.stage()
	l.publish()
	l.node.WriteFile(publish+`\data`, l.name)
	l.getStats()
	l.compare("in use")
	l.register() // kubelet and the driver restarted
	l.stage()
	l.publish()
	l.compare("in use")
	caller.OK(l.t, l.node.Emulated.GrowDisk(l.disk, l.sizeBytes+growBytes))
	if d, ok := l.driver.(gcp); ok {
		d.sizeBytes += growBytes
		l.driver = d
	}
	l.perform("NodeExpand", func(c *calls) error {
		err := l.driver.Expand(c, publish, l.sizeBytes+growBytes)
		if l.expandError == nil || errors.Is(err, errInterrupted) {
			return err
		}
		if !errors.Is(err, l.expandError) {
			return fmt.Errorf("NodeExpand ends with %w, want %w", err, l.expandError)
		}
		return nil
	})
	l.readData()
	l.compare("grown")
	l.giveUp("given up")
}

// secondPod finds the data again.
func (l *life) secondPod() {
	l.t.Helper()
	l.stage()
	l.publish()
	l.readData()
	l.getStats()
	l.compare("in use again")
	l.giveUp("given up again")
}

// readData reads, as a workload, what the first pod wrote.
func (l *life) readData() {
	l.t.Helper()
	l.node.Holds(publish+`\data`, l.name)
}

// register does what some drivers do at start-up.
func (l *life) register() {
	l.t.Helper()
	if d, ok := l.driver.(registrar); ok {
		l.perform("NodeGetInfo", d.Register)
	}
}

func (l *life) stage() {
	l.t.Helper()
	l.perform("NodeStage", func(c *calls) error { return l.driver.Stage(c, staging) })
}

func (l *life) publish() {
	l.t.Helper()
	l.perform("NodePublish", func(c *calls) error { return l.driver.Publish(c, staging, publish) })
}

func (l *life) getStats() {
	l.t.Helper()
	l.perform("NodeGetVolumeStats", func(c *calls) (err error) {
		l.stats[0], l.stats[1], err = l.driver.Stats(c, publish)
		return err
	})
}

// giveUp unpublishes, twice as kubelet may, and unstages.
func (l *life) giveUp(where string) {
	l.t.Helper()
	for range 2 {
		l.perform("NodeUnpublish", func(c *calls) error { return l.driver.Unpublish(c, publish) })
	}
	l.perform("NodeUnstage", func(c *calls) error {
		err := l.driver.Unstage(c, staging)
		if errors.Is(err, errStuck) && l.disturbed {
			return nil
		}
		return err
	})
	l.stats = [2]int64{}
	l.compare(where)
}

// perform calls an operation as kubelet does.
func (l *life) perform(operation string, f func(c *calls) error) {
	l.t.Helper()
	l.counts[operation]++
	l.retried(nth(operation, l.counts[operation]), func(c *calls) error { l.prepare(operation); return f(c) })
}

// prepare makes the directories that kubelet makes before it calls.
func (l *life) prepare(operation string) {
	l.t.Helper()
	var path string
	switch {
	case operation == "NodeStage" && l.kubeletMakes:
		path = staging
	case operation == "NodePublish" && l.kubeletMakes:
		path = publish
	case operation == "NodePublish":
		path = parent(publish)
	default:
		return
	}
	l.must(mkdirAll(l.node.Node, path))
}

// compare compares the state with that of the undisturbed life at the same place. The undisturbed life itself must find
// the same state each time it comes to a place.
func (l *life) compare(where string) {
	l.t.Helper()
	if l.calls.interruption != nil && (where == "given up" || strings.HasSuffix(where, " again")) {
		return
	}
	disks, _ := l.observer.Disks() // whose volumes the paths lead to
	s := snapshot{disks, l.observer.Paths(), l.stats}
	for i, d := range disks {
		if len(d.Partitions) == 0 { // read-only or not, RAW or an empty MBR, as this Windows has it
			disks[i].Style, disks[i].ReadOnly = "", nil
		}
	}
	reference := cmp.Or(l.want, l)
	want, ok := reference.snapshots[where]
	if !ok && reference == l {
		l.snapshots[where] = s
		return
	}
	if diff := gocmp.Diff(want, s, cmpopts.EquateEmpty(), protocmp.Transform()); diff != "" {
		l.t.Errorf("%s (-want +got):\n%s", where, diff)
	}
}
