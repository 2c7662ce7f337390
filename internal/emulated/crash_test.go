// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

var errDied = errors.New("the process died here")

// mortal is a hook that lets the process live for a number of changes; every later one fails.
type mortal struct{ left int }

func (m *mortal) before(string, string) error {
	if m.left--; m.left < 0 {
		return errDied
	}
	return nil
}

func smallScenario() *scenario.Scenario {
	s := scenario.Default()
	s.SystemDisk.SizeBytes = 256 << 20
	s.Disks = []bundle.Spec{{SizeBytes: 64 << 20, SerialNumber: "one", LUN: 1},
		{SizeBytes: 32 << 20, SerialNumber: "two", LUN: 2, Offline: true}}
	return &s
}

func TestEveryChangeSurvivesDeathAtEveryStep(t *testing.T) {
	every := stride()
	for i, c := range crashCases() {
		t.Run(c.name, func(t *testing.T) {
			seen := map[string]int{}
			for steps := i % every; ; steps += every {
				if steps > 200 {
					t.Fatal("the change never ends")
				}
				dir := t.TempDir()
				n := openNode(t, dir, Options{Scenario: smallScenario()})
				c.prepare(t, n)
				must(t, n.Close())

				life := &mortal{left: 1 << 30}
				n = openNode(t, dir, Options{Before: life.before})
				life.left = steps
				err := c.change(n)
				died := life.left < 0
				if died != (err != nil) {
					t.Fatalf("after %d steps: died: %v, error: %v", steps, died, err)
				}
				must(t, n.Close())

				n = openNode(t, dir, Options{})
				got := c.check(t, n)
				if t.Failed() {
					t.Fatalf("after %d steps", steps)
				}
				if !died && got != "new" {
					t.Fatalf("after the whole change: %s", got)
				}
				checkImages(t, n)
				must(t, n.Close())
				seen[got]++
				if !died {
					break
				}
			}
			if every == 1 && seen["old"] == 0 {
				t.Errorf("deaths left %v; the change has no step before it takes effect", seen)
			}
		})
	}
}

// One step that fails, while the process lives on, leaves the node intact as well, even before the next start.
func TestEveryChangeSurvivesAFailedStep(t *testing.T) {
	every := stride()
	for i, c := range crashCases() {
		t.Run(c.name, func(t *testing.T) {
			for steps, done := i%every, false; !done; steps += every {
				dir := t.TempDir()
				var failing int
				n := openNode(t, dir, Options{Scenario: smallScenario(), Before: func(string, string) error {
					if failing--; failing == 0 {
						return errDied
					}
					return nil
				}})
				c.prepare(t, n)
				failing = steps + 1
				err := c.change(n)
				done = failing > 0
				if !done && err == nil {
					t.Fatalf("step %d failed, and the change reported success", steps)
				}
				before := c.state(t, n)
				checkTidy(t, n)
				must(t, n.Close())
				n = openNode(t, dir, Options{})
				if got := c.state(t, n); done && got != "new" || before == "new" && got == "old" {
					t.Errorf("before a restart %s, after it %s", before, got)
				}
				checkImages(t, n)
				must(t, n.Close())
				if t.Failed() {
					t.Fatalf("step %d failed", steps)
				}
			}
		})
	}
}

// stride returns how many steps of a change lie between two that are disturbed: one in a long run, as `make test-long`
// makes it, otherwise a few. Each case begins at a different step.
func stride() int {
	if os.Getenv("CSI_PROXY_LONG") != "" {
		return 1
	}
	return 9
}

// checkTidy checks that nothing is left of a change that was interrupted.
func checkTidy(t *testing.T, n *Node) {
	t.Helper()
	left, err := os.ReadDir(n.dir)
	must(t, err)
	for _, f := range left {
		if name := f.Name(); strings.HasSuffix(name, bundle.NewSuffix) || name == creatingFile {
			t.Errorf("left over: %s", name)
		}
	}
	homes, err := filepath.Glob(filepath.Join(n.dir, bundle.DisksDir, "*"))
	must(t, err)
	for _, home := range homes {
		image := strings.TrimSuffix(filepath.Base(home), bundle.Suffix)
		_, detached := os.Lstat(filepath.Join(home, bundle.InfoFile))
		if n.state.disk(image) == nil && !n.state.ISCSI.HasLUN(image) && detached != nil {
			t.Errorf("left over: %s", home)
		}
		for _, pattern := range []string{"*" + bundle.NewSuffix, bundle.VolumesDir + "/" + hostfiles.DroppedPrefix + "*"} {
			if found, err := filepath.Glob(filepath.Join(home, pattern)); len(found) > 0 || err != nil {
				t.Errorf("left over: %q, %v", found, err)
			}
		}
	}
	if len(n.state.Changes) > 0 || n.host.Failed {
		t.Errorf("not settled: changes %v, failed %t", n.state.Changes, n.host.Failed)
	}
	text, err := os.ReadFile(filepath.Join(n.dir, stateFile))
	must(t, err)
	written, err := decodeState(text)
	must(t, err)
	for i := range written.Disks {
		// noted at the next change
		if was := &written.Disks[i].ImageBytes; i < len(n.state.Disks) && *was < n.state.Disks[i].ImageBytes {
			*was = n.state.Disks[i].ImageBytes
		}
	}
	got, err := encodeState(written)
	must(t, err)
	want, err := encodeState(n.state)
	must(t, err)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("node.json (-want +got):\n%s", diff)
	}
}

// checkImages makes sgdisk check every disk that has a GPT.
func checkImages(t *testing.T, n *Node) {
	t.Helper()
	for _, d := range n.disks.list() {
		if d.layout.Style == win32.PARTITION_STYLE_GPT {
			if d.layout.GPT.FromBackup {
				t.Errorf("disk %d has no primary table", d.number)
			}
			sgdisk(t, d.image.Path)
		}
	}
}

func TestCreationSurvivesDeathAtEveryStep(t *testing.T) {
	for steps := 0; steps < 200; steps += stride() {
		dir := t.TempDir()
		life := &mortal{left: steps}
		n, err := Open(dir, Options{Scenario: smallScenario(), Before: life.before})
		if err == nil {
			must(t, n.Close())
			if steps < 20 {
				t.Errorf("a node in %d steps", steps)
			}
			return
		}
		if !errors.Is(err, errDied) {
			t.Fatalf("after %d steps: %v", steps, err)
		}
		n, err = Open(dir, Options{Scenario: smallScenario()})
		if err != nil {
			t.Fatalf("after %d steps: %v", steps, err)
		}
		if _, err := n.HostPath(`C:\Windows\System32`); err != nil || len(n.disks.list()) != 3 {
			t.Errorf("after %d steps: %d disks, %v", steps, len(n.disks.list()), err)
		}
		checkImages(t, n)
		must(t, n.Close())
	}
	t.Error("creation never ends")
}
