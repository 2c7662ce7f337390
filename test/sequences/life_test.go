// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// The paths as kubelet makes them: the staging path without a drive, the publish path with one.
const (
	staging = `\var\lib\kubelet\plugins\kubernetes.io\csi\driver\0f3a\globalmount`
	publish = `c:\var\lib\kubelet\pods\6b0a\volumes\kubernetes.io~csi\pvc-1\mount`
)

// retries is how often the tests' kubelet repeats a failed operation; the real one never stops.
const retries = 3

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
	// Leftover returns what remains when an attempt at staging or unstaging fails with these effects and is repeated.
	Leftover(e effects) leftover
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

	t        *testing.T
	node     *testnode.Node
	observer *caller.Observer
	calls    *calls
	want     *life // the undisturbed life; nil: this is it

	counts    map[string]int // how often each operation was called
	snapshots map[string]snapshot
	stats     [2]int64
	allowed   []leftover // what the disturbance may have left
	left      leftover   // what it has left
	grown     bool       // a volume that was staged after the disk grew has grown too
}

// disturbance is what happens in one life: nothing, or one interrupted step.
type disturbance struct {
	interruption *interruption
	policy       *policy.Policy  // of the agent
	audit        server.Recorder // of its calls
}

// live plays a whole life. Compared with want, it must be in the same state at the same places and end in the same,
// except for the driver's known leftovers.
func (s subject) live(t *testing.T, d disturbance, want *life) *life {
	t.Helper()
	options := emulated.Options{}
	if s.profile != "" {
		scenario, err := scenario.Load(s.profile)
		caller.OK(t, err)
		options.Scenario = &scenario
	}
	n := testnode.Start(t, testnode.Options{Emulated: options, Policy: d.policy, Audit: d.audit})
	l := &life{
		subject: s, t: t, node: n, observer: caller.Observe(t, n.Emulated), calls: newCalls(t, n, d.interruption),
		want: want, counts: make(map[string]int),
		snapshots: make(map[string]snapshot),
	}
	l.firstPod()
	l.grown = true
	l.secondPod()
	if l.left != (leftover{}) {
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
	err := l.perform("NodeExpand", func(c *calls) error { return l.driver.Expand(c, publish, l.sizeBytes+growBytes) })
	if !errors.Is(err, l.expandError) {
		l.t.Fatalf("NodeExpand ends with %v, want %v", err, l.expandError)
	}
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
	if got := l.node.ReadFile(publish + `\data`); got != l.name {
		l.t.Errorf("the volume holds %q, want %q", got, l.name)
	}
}

// register does what some drivers do at start-up.
func (l *life) register() {
	l.t.Helper()
	if d, ok := l.driver.(registrar); ok {
		_ = l.perform("NodeGetInfo", d.Register)
	}
}

// stage begins with whatever is left over, and removes all of it.
func (l *life) stage() {
	l.t.Helper()
	l.allowed, l.left = nil, leftover{}
	_ = l.perform("NodeStage", func(c *calls) error { return l.driver.Stage(c, staging) })
}

func (l *life) publish() {
	l.t.Helper()
	_ = l.perform("NodePublish", func(c *calls) error { return l.driver.Publish(c, staging, publish) })
}

func (l *life) getStats() {
	l.t.Helper()
	_ = l.perform("NodeGetVolumeStats", func(c *calls) (err error) {
		l.stats[0], l.stats[1], err = l.driver.Stats(c, publish)
		return err
	})
}

// giveUp unpublishes, twice as kubelet may, and unstages.
func (l *life) giveUp(where string) {
	l.t.Helper()
	for range 2 {
		_ = l.perform("NodeUnpublish", func(c *calls) error { return l.driver.Unpublish(c, publish) })
	}
	err := l.perform("NodeUnstage", func(c *calls) error { return l.driver.Unstage(c, staging) })
	l.left.Stuck = err != nil
	l.stats = [2]int64{}
	l.compare(where)
}

// perform calls an operation as kubelet does: again while it fails. Only the disturbance may make it fail, so
// the first retry must succeed or the test ends. An error is returned only where it is expected: from an operation
// that never succeeds, or from one that is stuck.
func (l *life) perform(operation string, f func(c *calls) error) error {
	l.t.Helper()
	l.counts[operation]++
	var err error
	for attempt := range 1 + retries {
		l.prepare(operation)
		l.calls.begin(nth(operation, l.counts[operation]))
		if err = f(l.calls); err == nil || (l.expandError != nil && errors.Is(err, l.expandError)) {
			return err
		}
		switch {
		case attempt > 0 && !l.mayBeStuck(operation):
			l.t.Fatalf("%s does not recover: %v", l.calls.operation, err)
		case attempt == 0 && !errors.Is(err, errInterrupted):
			l.t.Fatalf("%s fails by itself: %v", l.calls.operation, err)
		case attempt == 0:
			l.failed(operation)
		}
	}
	return err
}

func (l *life) mayBeStuck(operation string) bool {
	return operation == "NodeUnstage" && slices.ContainsFunc(l.allowed, func(a leftover) bool { return a.Stuck })
}

// failed notes what the retry of the failed attempt may leave.
func (l *life) failed(operation string) {
	if operation != "NodeStage" && operation != "NodeUnstage" {
		return
	}
	l.allowed = append(l.allowed, l.driver.Leftover(effects(l.calls.effective)))
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
	if err := mkdirAll(l.node, path); err != nil {
		l.t.Fatalf("kubelet cannot make %s: %v", path, err)
	}
}

// compare takes a snapshot and compares it with that of the undisturbed life at the same place. The undisturbed life
// itself must find the same state each time it comes to a place.
func (l *life) compare(where string) {
	l.t.Helper()
	s := takeSnapshot(l.observer)
	s.Stats = l.stats
	reference := l.want
	if reference == nil {
		reference = l
	}
	want, ok := reference.snapshots[where]
	if !ok && reference == l {
		l.snapshots[where] = s
		return
	}
	settled, left := s.splitLeftovers(want, l.disk, staging)
	if diff := cmp.Diff(want, settled, cmpopts.EquateEmpty(), protocmp.Transform()); diff != "" {
		l.t.Errorf("%s (-want +got):\n%s", where, diff)
	}
	left.Stuck = l.left.Stuck
	l.left = left
	if !slices.Contains(l.expected(), left) {
		l.t.Errorf("%s: the retry left %+v, want one of %+v", where, left, l.expected())
	}
}

// expected returns what may be left over now.
func (l *life) expected() []leftover {
	if len(l.allowed) == 0 {
		return []leftover{{}}
	}
	expected := slices.Clone(l.allowed)
	for i := range expected {
		expected[i].Ungrown = expected[i].Ungrown && l.grown
	}
	return expected
}
