// SPDX-License-Identifier: Apache-2.0

package windows

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
)

// emulatedSubject returns an emulated node whose switches decide the answers.
func emulatedSubject(t *testing.T, switches scenario.Switches) Subject {
	t.Helper()
	described := scenario.Default()
	described.Switches = switches
	node, err := emulated.Open(t.TempDir(), emulated.Options{Scenario: &described})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = node.Close() })
	if err := (Subject{Kernel: node}).makeDirectory(`C:\var\lib\kubelet\plugins`, "csiproxy-questions"); err != nil {
		t.Fatal(err)
	}
	shares := []string{`\\fs.emulated\share`, `\\fs.emulated\other`}
	return guarded(Subject{
		Kernel: node, Timeout: 200 * time.Millisecond,
		Share: func(testing.TB) Share {
			next := shares[0]
			shares = append(shares[1:], next)
			return Share{Remote: next, User: "csi", Password: "csi-password"}
		},
		Stranger: func(testing.TB) Share {
			return Share{Remote: `\\fs.emulated\other`, User: `AZURE\csi`, Password: "csi-password"}
		},
		Drop: func(s Share) error { return node.DropSMBSessions(strings.Split(s.Remote, `\`)[2]) },
		Target: func(testing.TB) Target {
			return Target{"192.0.2.10", 3260, "iqn.2026-01.emulated:chap", "csi-user", "chap-secret-123"}
		},
		Attach: func(t testing.TB, bytes int64, sectorSize uint32) Disk {
			t.Helper()
			d := &emulatedDisk{node: node, spec: bundle.Spec{SizeBytes: setting.Size(bytes),
				SectorSize: sectorSize, LUNAuto: true}}
			check(t, d.Attach())
			return d
		},
	})
}

type emulatedDisk struct {
	node   *emulated.Node
	spec   bundle.Spec
	number uint32
}

func (d *emulatedDisk) Number() uint32 { return d.number }

func (d *emulatedDisk) Grow(bytes int64) (string, error) {
	return machine.GrownInPlace, d.node.GrowDisk(d.number, bytes)
}

func (d *emulatedDisk) Write(offset int64, content []byte) error {
	image, err := d.node.DiskImage(d.number)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(image, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(content, offset)
	return errors.Join(err, f.Close())
}

func (d *emulatedDisk) Detach() (err error) {
	d.spec.ImagePath, err = d.node.DetachDisk(d.number)
	return err
}

func (d *emulatedDisk) Attach() (err error) {
	d.number, err = d.node.AttachDisk(d.spec)
	return err
}

// passing matches what differs from one time to the next: durations, and names of tests' things and of devices.
var passing = regexp.MustCompile(`[0-9.]+(ns|µs|ms|s)\b|csiproxy-[0-9a-f]{10}|\b[A-Z2-7]{26}\b|` +
	`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|&[0-9a-f]{2,16}&0&`)

//go:embed testdata/emulated.txt
var emulatedAnswers string

var updateAnswers = flag.Bool("update", false, "rewrite testdata")

// The questions work: an emulated node answers each as its switches are set. The file has the usual node's answers, and
// those of the others that are not the same.
func TestEmulatedNodesAnswer(t *testing.T) {
	nodes := []struct {
		name     string
		switches func(*scenario.Switches)
	}{
		{"usual", func(*scenario.Switches) {}},
		{"other", func(s *scenario.Switches) {
			s.AttributesVersion, s.CreateDiskClears, s.ZeroedDiskIsMBR = 16, true, true
			s.MSR, s.GrowPartitionRefreshes, s.ExtendOneSectorLess = scenario.MSRDelayed, true, true
			s.EmptyRootNotFound, s.MountPointCallsDelete, s.ClonesNeedWritable = false, true, false
		}},
		{"late", func(s *scenario.Switches) {
			s.VolumesArriveLate, s.OfflineDisksReadOnly, s.MSR = true, true, scenario.MSRNever
		}},
	}
	var text strings.Builder
	answers := make([]map[int]string, len(nodes))
	for i, n := range nodes {
		answers[i] = answersOf(t, n.switches)
	}
	for _, q := range portableQuestions() {
		fmt.Fprintf(&text, "R%d: %s\n", q.Number, q.Text)
		for i, n := range nodes {
			if answer := answers[i][q.Number]; i == 0 || answer != answers[0][q.Number] {
				fmt.Fprintf(&text, "  %s\n%s", n.name, answer)
			}
		}
	}
	if *updateAnswers {
		check(t, os.WriteFile(filepath.Join("testdata", "emulated.txt"), []byte(text.String()), 0o644))
		return
	}
	if diff := cmp.Diff(strings.Split(emulatedAnswers, "\n"), strings.Split(text.String(), "\n")); diff != "" {
		t.Errorf("the answers have changed (-want +got); if that is meant, run this test with -update:\n%s", diff)
	}
}

// answersOf asks an emulated node all questions, in a bubble, where waiting takes no time. What passes is left out of the
// answers, and so is how often a lock was refused beside a reader.
func answersOf(t *testing.T, set func(*scenario.Switches)) map[int]string {
	t.Helper()
	answers, refused := map[int]string{}, regexp.MustCompile(`after …: ERROR_ACCESS_DENIED, `)
	synctest.Test(t, func(t *testing.T) {
		switches := scenario.Default().Switches
		set(&switches)
		subject := emulatedSubject(t, switches)
		for _, q := range portableQuestions() {
			answer := q.Ask(t, subject)
			if answer.Status != "answered" {
				t.Errorf("R%d is %v", q.Number, answer)
			}
			var lines []string
			if all := reflect.ValueOf(answer.Answer); all.Kind() == reflect.Map {
				for _, key := range all.MapKeys() {
					lines = append(lines, fmt.Sprintf("    %s: %+v\n", key, all.MapIndex(key)))
				}
				slices.Sort(lines)
			} else {
				lines = []string{fmt.Sprintf("    %+v\n", answer.Answer)}
			}
			text := passing.ReplaceAllString(strings.Join(lines, ""), "…")
			answers[q.Number] = refused.ReplaceAllString(text, "")
		}
	})
	return answers
}

// Only a machine is asked R30, whose automount has to be set. What the question does is tried here.
func TestArrivalOfAVolume(t *testing.T) {
	off := scenario.Default().Switches
	off.AutomountOff = true
	answer := (&inquiry{TB: t, Subject: emulatedSubject(t, off)}).arrival()
	if got := answer["volume"]; got != "came, and does not tell its extents" ||
		answer["arrived, opened without access, IOCTL_VOLUME_IS_OFFLINE"] != "ERROR_NOT_READY" {
		t.Errorf("got %q", answer)
	}
}
