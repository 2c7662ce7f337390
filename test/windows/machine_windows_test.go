// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	kernel "github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// onThisMachine skips a test that would change a machine unless the owner has allowed it.
func onThisMachine(t *testing.T) {
	t.Helper()
	if testnode.OnWine() || os.Getenv("CSI_PROXY_TEST_NODE") != "windows" {
		t.Skip("require CSI_PROXY_TEST_NODE=windows on a Windows machine that may be changed")
	}
}

// machineSubject returns this machine, with a directory for mount points and links.
func machineSubject(t *testing.T) Subject {
	t.Helper()
	if err := machine.MakeDirectory(t, mountParent); err != nil {
		t.Fatal(err)
	}
	return guarded(Subject{
		Kernel: kernel.New(), Timeout: time.Minute, Share: newShare, Stranger: newStrangersShare, Drop: Share.EndSessions,
		Target: NewTarget, Initiator: BorrowInitiator,
		Attach: func(t testing.TB, bytes int64, sectorSize uint32) Disk {
			t.Helper()
			d, err := machine.AttachVirtualDisk(t, bytes, sectorSize)
			check(t, err)
			return d
		},
	})
}

func TestUnusualDisks(t *testing.T) {
	onThisMachine(t)
	unusualDisks(t, machineSubject(t))
}

// alike reports whether two answers are the same but for what passes.
func alike(a, b Answer) bool {
	return passing.ReplaceAllString(a.String(), "…") == passing.ReplaceAllString(b.String(), "…")
}

// TestQuestions puts each question to this machine, as a test of its own, and logs its answer beside that of an emulated
// node with the default switches, where it can be asked.
func TestQuestions(t *testing.T) {
	onThisMachine(t)
	portable := portableQuestions()
	for _, q := range Questions() {
		t.Run(fmt.Sprintf("R%d", q.Number), func(t *testing.T) {
			answer := q.Ask(t, machineSubject(t))
			t.Logf("R%d: %s", q.Number, q.Text)
			t.Logf("R%d %v", q.Number, answer)
			if answer.Status == "failed" {
				t.Errorf("R%d has no answer", q.Number)
			}
			if slices.ContainsFunc(portable, func(p Question) bool { return p.Number == q.Number }) {
				assumed := q.Ask(t, emulatedSubject(t, scenario.Default().Switches))
				how := map[bool]string{true: "is as", false: "differs from"}[alike(answer, assumed)]
				t.Logf("R%d %s the emulated node's answer, %v", q.Number, how, assumed)
			}
		})
	}
}

// TestDisks attaches, grows and pulls a disk, on which all the other tests depend.
func TestDisks(t *testing.T) {
	onThisMachine(t)
	q := &inquiry{TB: t, Subject: Subject{Kernel: kernel.New(), Timeout: time.Minute}}
	d, err := machine.AttachVirtualDisk(t, gib, 512)
	q.check(err)
	size := func() int64 {
		h := q.openDisk(d.Number())
		defer h.Close()
		q.check(updateDriveSize(h))
		length, err := query(h, win32.IOCTL_DISK_GET_LENGTH_INFO, 8, win32.ParseLengthInformation)
		q.check(err)
		return length
	}
	if got := size(); got != gib {
		t.Errorf("the disk has %d bytes, want 1 GiB", got)
	}
	t.Logf("it grew %s", q.grow(d, 2*gib))
	// Windows learns the size when it is told, and a moment later.
	if _, err := q.pollUntil(func() (bool, error) { return size() == 2*gib, nil }); err != nil || size() != 2*gib {
		t.Errorf("the disk has %d bytes, want 2 GiB; %v", size(), err)
	}
	number := d.Number()
	q.check(d.Detach())
	gone, _ := q.pollUntil(func() (bool, error) {
		h, err := q.Subject.openDisk(number)
		if err == nil {
			_ = h.Close()
		}
		return err != nil, nil
	})
	if !gone {
		t.Errorf("disk %d still exists after it was pulled", number)
	}
	q.check(d.Attach())
}
