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
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/machine"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
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
		Attach: func(t testing.TB, bytes int64, sectorSize uint32) (Disk, error) {
			t.Helper()
			return machine.AttachVirtualDisk(t, bytes, sectorSize)
		},
	})
}

func TestUnusualDisks(t *testing.T) {
	onThisMachine(t)
	unusualDisks(t, machineSubject(t))
}

// TestQuestions asks this machine everything.
func TestQuestions(t *testing.T) {
	onThisMachine(t)
	askAll(t, Questions(), machineSubject)
}

// TestDisks attaches, grows and pulls a disk, on which all the other tests depend.
func TestDisks(t *testing.T) {
	onThisMachine(t)
	d, err := machine.AttachVirtualDisk(t, gib, 512)
	if err != nil {
		t.Fatal(err)
	}
	size := func() int64 {
		h, err := openDisk(Subject{Kernel: kernel.New()}, d)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		if _, err := h.DeviceIoControl(win32.IOCTL_DISK_UPDATE_DRIVE_SIZE, nil, make([]byte, 24)); err != nil {
			t.Fatal(err)
		}
		length, err := query(h, win32.IOCTL_DISK_GET_LENGTH_INFO, 8, win32.ParseLengthInformation)
		if err != nil {
			t.Fatal(err)
		}
		return length
	}
	if got := size(); got != gib {
		t.Errorf("the disk has %d bytes, want 1 GiB", got)
	}
	how, err := d.Grow(2 * gib)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("it grew %s", how)
	s := Subject{Kernel: kernel.New(), Timeout: time.Minute}
	// Windows learns the size when it is told, and a moment later.
	if _, err := s.pollUntil(func() (bool, error) { return size() == 2*gib, nil }); err != nil || size() != 2*gib {
		t.Errorf("the disk has %d bytes, want 2 GiB; %v", size(), err)
	}
	number := d.Number()
	if err := d.Detach(); err != nil {
		t.Fatal(err)
	}
	gone, _ := s.pollUntil(func() (bool, error) {
		h, err := openDisk(s, numbered(number))
		if err == nil {
			_ = h.Close()
		}
		return err != nil, nil
	})
	if !gone {
		t.Errorf("disk %d still exists after it was pulled", number)
	}
	if err := d.Attach(); err != nil {
		t.Fatal(err)
	}
}

// questionLimit is how long a question may take.
const questionLimit = 4 * time.Minute

// askAll puts each question to a node, as a test of its own, and logs its answer beside that of an emulated node with
// the default switches, where it can be asked.
func askAll(t *testing.T, questions []Question, subject func(t *testing.T) Subject) {
	t.Helper()
	portable := portableQuestions()
	for _, q := range questions {
		t.Run(fmt.Sprintf("R%d", q.Number), func(t *testing.T) {
			answer := q.within(t, questionLimit, func() Subject { return subject(t) })
			t.Logf("R%d: %s", q.Number, q.Text)
			t.Logf("R%d %v", q.Number, answer)
			if answer.Status == "failed" {
				t.Errorf("R%d has no answer", q.Number)
			}
			if slices.ContainsFunc(portable, func(p Question) bool { return p.Number == q.Number }) {
				assumed := q.Ask(t, emulatedSubject(t, scenario.DefaultSwitches()))
				how := map[bool]string{true: "is as", false: "differs from"}[alike(answer, assumed)]
				t.Logf("R%d %s the emulated node's answer, %v", q.Number, how, assumed)
			}
		})
	}
}
