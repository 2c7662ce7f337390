// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
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
				if !died {
					checkImages(t, n)
				}
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

// stride returns how many steps of a change lie between two that are disturbed: one in a long run, as `make test-long`
// makes it, otherwise a few. Each case begins at a different step.
func stride() int {
	if os.Getenv("CSI_PROXY_LONG") != "" {
		return 1
	}
	return 9
}

// checkImages makes sgdisk check every disk that has a GPT, and looks for all blocks of each NTFS.
func checkImages(t *testing.T, n *Node) {
	t.Helper()
	for _, v := range n.disks.volumes() {
		if v.formatted() && v.boot.FileSystem == "NTFS" {
			checkNTFS(t, v)
		}
	}
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
