// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ondisk"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

const (
	crashDir = `C:\var\lib\kubelet\pods\p`
	oneDrive = `\\.\PhysicalDrive1`
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

// TestEveryChangeSurvivesDeathAtEveryStep: wherever the process dies in a change that no method of the agent makes, the
// next one finds the node as it was or as it was to be, and the change can be made once more.
func TestEveryChangeSurvivesDeathAtEveryStep(t *testing.T) {
	every := 5 // each case begins at a different step
	if os.Getenv("CSI_PROXY_LONG") != "" {
		every = 1
	}
	for i, c := range crashCases() {
		t.Run(c.name, func(t *testing.T) {
			prepared := func(t *testing.T, life *mortal) (dir string, n *Node) {
				t.Helper()
				dir = t.TempDir()
				n = openNode(t, dir, Options{Scenario: smallScenario()})
				c.prepare(t, n)
				must(t, n.Close())
				return dir, openNode(t, dir, Options{Before: life.before})
			}
			_, n := prepared(t, &mortal{left: 1 << 30})
			before := look(t, n)
			must(t, c.change(n))
			after := look(t, n)
			must(t, n.Close())
			if before == after {
				t.Fatal("the change cannot be seen")
			}
			for steps, died := i%every, true; died; steps += every {
				life := &mortal{left: 1 << 30}
				dir, n := prepared(t, life)
				life.left = steps
				err := c.change(n)
				if died = life.left < 0; died != (err != nil) || steps > 200 {
					t.Fatalf("after %d steps: died: %v, error: %v", steps, died, err)
				}
				must(t, n.Close())
				n = openNode(t, dir, Options{})
				got := look(t, n)
				if got != before && got != after || !died && got != after {
					t.Fatalf("after %d steps:\n%s\nbefore:\n%s\nafter:\n%s", steps, got, before, after)
				}
				if got == before {
					must(t, c.change(n))
					got = look(t, n)
				}
				if got != after {
					t.Errorf("after %d steps, and once more:\n%s\nwant\n%s", steps, got, after)
				}
				checkImages(t, n)
				must(t, n.Close())
			}
		})
	}
}

// look describes what changes change.
func look(t *testing.T, n *Node) string {
	t.Helper()
	var text strings.Builder
	identities := map[any]bool{}
	one := func(id any) {
		if identities[id] {
			t.Errorf("two things with one identity are online: %v", id)
		}
		identities[id] = true
	}
	for _, d := range n.disks.list() {
		mark := make([]byte, len(userMark))
		_, err := d.image.File.ReadAt(mark, userMarkAt)
		must(t, err)
		l := d.layout.DriveLayout()
		fmt.Fprintf(&text, "disk %d %s, %d bytes, offline %t, %q, %d partitions\n", d.record.Number, d.record.SerialNumber,
			d.image.Size, d.record.Offline, bytes.Trim(mark, "\x00"), len(l.Partitions))
		if l.Style == win32.PARTITION_STYLE_GPT && !d.record.Offline {
			one(l.DiskID)
		}
	}
	for _, v := range n.disks.volumes() {
		one(v.ID)
		content, _ := os.ReadFile(filepath.Join(v.disk.image.Files(v.ID), "file"))
		fmt.Fprintf(&text, "volume on %d, formatted %t, with %q\n", v.disk.record.Number, v.formatted(), content)
	}
	bundles, err := n.DetachedDisks()
	must(t, err)
	for _, b := range bundles {
		if files, _ := filepath.Glob(filepath.Join(b.BundlePath, "volumes", "*", "file")); len(files) == 1 {
			content, err := os.ReadFile(files[0])
			must(t, err)
			info, err := bundle.ReadInfo(b.BundlePath)
			must(t, err)
			image, err := os.Stat(filepath.Join(b.BundlePath, bundle.ImageFile))
			must(t, err)
			fmt.Fprintf(&text, "detached %s of %d bytes with %q\n", info.SerialNumber, image.Size(), content)
		}
	}
	for _, s := range n.state.SMB.Server("fs.emulated").Shares {
		_, err := os.Stat(smb.SharePath(n.dir, "fs.emulated", s.Name))
		fmt.Fprintf(&text, "share %s, %v\n", s.Name, err)
	}
	if user, err := os.Stat(userImage(n)); err == nil { // it never changes
		fmt.Fprintf(&text, "the user's image has %d bytes\n", user.Size())
	}
	fmt.Fprintf(&text, "letters %d, MSR %s\n", len(n.state.Letters), n.state.Switches.MSR)
	return text.String()
}

// checkImages makes sgdisk check every disk that has a GPT, and looks for all blocks of each NTFS: the boot sector, its
// copy and the MFT.
func checkImages(t *testing.T, n *Node) {
	t.Helper()
	for _, v := range n.disks.volumes() {
		if !v.formatted() || v.boot.FileSystem != "NTFS" {
			continue
		}
		sector := v.disk.sectorSize()
		boot, backup, mft := make([]byte, sector), make([]byte, sector), ondisk.NewNTFS(sector, 0, v.Length)[1].Data
		record := make([]byte, len(mft))
		for b, at := range map[*[]byte]int64{&boot: 0, &backup: int64(v.boot.Sectors) * sector,
			&record: int64(v.boot.MFTCluster) * ondisk.ClusterSize} {
			_, err := v.disk.image.File.ReadAt(*b, v.StartingOffset+at)
			must(t, err)
		}
		if !bytes.Equal(boot, backup) || !bytes.Equal(record, mft) {
			t.Error("the copy of the boot sector is another, or the MFT is not there")
		}
	}
	for _, d := range n.disks.list() {
		if d.layout.Style == win32.PARTITION_STYLE_GPT {
			sgdisk(t, d.image.Path)
		}
	}
}

func TestCreationSurvivesDeathAtEveryStep(t *testing.T) {
	for steps := range 200 {
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
