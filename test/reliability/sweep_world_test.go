// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// The disks of a world: the one that examples work on, one that is offline, and one that is in use and that nothing may
// touch.
const (
	theDisk     = 1
	offlineDisk = 2
	bystander   = 3
)

const (
	diskBytes  = 128 << 20
	grownBytes = 256 << 20
)

// world is the node of one point: an emulated node in its own directory, and an agent on it. The agent is
// the real one without its sockets: calls arrive in process.
type world struct {
	*caller.Calls // of the agent that there is
	t             *testing.T
	dir           string

	emulated *emulated.Node
	node     *node.Node
	around   *injector

	host func(change, path string) error // takes the place of operations on the host's files by its error; nil: none

	bystander string // the digest of its image
	pulled    string // the image of the detached disk
	intruder  string // the disk that came in its place
	byNumber  bool   // the step names the disk by its number, and means the disk that it finds there
	intended  bool   // the intruder came before the step had looked, so it is the one that is meant
}

// theDiskSpec describes the disk that examples work on; with its image it is that disk again, at its old address.
func theDiskSpec(image string) bundle.Spec {
	spec := bundle.Spec{SerialNumber: "the-disk", LUN: 1, ImagePath: image}
	if image == "" {
		spec.SizeBytes = diskBytes
	}
	return spec
}

func sweepScenario() *scenario.Scenario {
	s := scenario.Default()
	s.SystemDisk.SizeBytes = 256 << 20
	s.Disks = []bundle.Spec{
		theDiskSpec(""),
		{SizeBytes: diskBytes, SerialNumber: "offline", LUN: 2, Offline: true},
		{SizeBytes: diskBytes, SerialNumber: "bystander", LUN: 3, Formatted: true},
	}
	return &s
}

// newWorld makes a node, starts an agent on it, and mounts the bystander's volume, with data in it.
func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "csi") //nolint:usetesting // thousands of them: each goes with its point
	caller.OK(t, err)
	w := &world{t: t, dir: dir}
	w.open(sweepScenario())
	w.start()
	w.OK(mountAt(bystander, bystanderPath)(w))
	w.write(bystanderPath+`\data`, "precious")
	w.bystander = w.diskDigest(bystander)
	return w
}

func (w *world) open(s *scenario.Scenario) {
	w.t.Helper()
	var err error
	w.emulated, err = emulated.Open(w.dir, emulated.Options{Scenario: s, Before: w.beforeHost})
	if err != nil {
		w.t.Fatalf("the node does not open: %v", err)
	}
}

// beforeHost is called before each operation on the host's files.
func (w *world) beforeHost(change, path string) error {
	if w.host == nil {
		return nil
	}
	return w.host(change, path)
}

// start starts an agent on the open node.
func (w *world) start() {
	w.t.Helper()
	w.around = &injector{}
	n, err := node.New(w.emulated, node.Config{WorkingDirs: []string{node.KubeletDir}, Interceptor: w.around.intercept,
		RequirePrivacy: true, Records: filepath.Join(w.dir, "records")})
	if err != nil {
		w.t.Fatal(err)
	}
	n.EnablePrivileges(w.t.Context())
	w.node = n
	w.Calls = caller.By(w.t, csiproxy.Over(server.NewLocal(apis.All(n), server.Options{Logger: klog.New(quiet{})})))
}

// die ends the agent, which changes nothing from here on, and releases the node as the end of its process does.
func (w *world) die() {
	w.t.Helper()
	w.around.kill()
	waitCtx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := w.node.Drain(waitCtx); err != nil {
		w.t.Fatalf("an operation of the dead agent does not end: %v", err)
	}
	if err := w.emulated.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// restart starts the next agent with what the last one left, after a power loss if the node rebooted.
func (w *world) restart(rebooted bool) {
	w.t.Helper()
	w.die()
	w.open(nil)
	if rebooted {
		w.OK(w.emulated.Reboot())
	}
	w.start()
}

// end removes the world.
func (w *world) end() {
	w.die()
	_ = os.RemoveAll(w.dir)
}

// write writes a file as a workload on the node does.
func (w *world) write(path, content string) {
	w.t.Helper()
	host, err := w.emulated.HostPath(path)
	w.OK(err)
	w.OK(os.WriteFile(host, []byte(content), 0o600))
}

// volume returns the data volume of a disk, asked past the disturbed agent.
func (w *world) volume(disk uint32) (string, error) {
	tree, err := w.observe()
	if err != nil {
		return "", err
	}
	for _, d := range tree.Disks {
		for _, p := range d.Partitions {
			if d.Number == disk && p.Volume != nil {
				return p.Volume.ID, nil
			}
		}
	}
	return "", fmt.Errorf("disk %d has no volume", disk)
}

// pull detaches the disk and returns its image.
func (w *world) pull() string {
	w.t.Helper()
	image, err := w.emulated.DetachDisk(theDisk)
	w.OK(err)
	return image
}

// attach attaches a disk in the pulled one's place.
func (w *world) attach(spec bundle.Spec) {
	w.t.Helper()
	number, err := w.emulated.AttachDisk(spec)
	w.OK(err)
	if number != theDisk {
		w.t.Fatalf("the disk comes as number %d, want %d", number, theDisk)
	}
}

// image makes a disk's bytes: some marks on zeros.
func (w *world) image(marks map[int64]string) string {
	w.t.Helper()
	f, err := os.Create(filepath.Join(w.dir, "intruder"))
	w.OK(err)
	w.OK(f.Truncate(diskBytes))
	for at, bytes := range marks {
		_, err := f.WriteAt([]byte(bytes), at)
		w.OK(err)
	}
	w.OK(f.Close())
	return f.Name()
}

// quiet is a log that is thrown away: there are thousands of provoked failures.
type quiet struct{}

func (quiet) Init(logr.RuntimeInfo)            {}
func (quiet) Enabled(int) bool                 { return false }
func (quiet) Info(int, string, ...any)         {}
func (quiet) Error(error, string, ...any)      {}
func (q quiet) WithValues(...any) logr.LogSink { return q }
func (q quiet) WithName(string) logr.LogSink   { return q }
