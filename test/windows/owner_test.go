// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
)

// Tests do not borrow things that the machine's owner uses or has switched off.
func TestUnavailableReasons(t *testing.T) {
	for name, test := range map[string]struct {
		refused error
		want    bool
	}{
		"a service that runs": {mayStart("target server", win32.SERVICE_RUNNING, win32.SERVICE_AUTO_START),
			false},
		"one that is started on demand":   {mayStart("x", win32.SERVICE_STOPPED, win32.SERVICE_DEMAND_START), false},
		"one that was stopped":            {mayStart("x", win32.SERVICE_STOPPED, win32.SERVICE_AUTO_START), true},
		"one that is switched off":        {mayStart("x", win32.SERVICE_STOPPED, win32.SERVICE_DISABLED), true},
		"a target server without targets": {hasNoForeignTargets(nil), false},
		"one with the tests' own":         {hasNoForeignTargets([]string{machine.RandomName()}), false},
		"one with a foreign target":       {hasNoForeignTargets([]string{machine.RandomName(), "backup"}), true},
	} {
		var refused Unavailable
		if errors.As(test.refused, &refused) != test.want {
			t.Errorf("%s: got %v", name, test.refused)
		}
	}
}

// The secret for mutual CHAP is set only on a machine whose owner has said so.
func TestCHAPSecretIsKeptUnlessAllowed(t *testing.T) {
	t.Setenv(SettingsVariable, "")
	s := emulatedSubject(t, scenario.Default().Switches)
	s.Initiator = func(t testing.TB) { // as of a machine
		t.Helper()
		(&inquiry{TB: t, Subject: Subject{Kernel: s.Kernel, Timeout: s.Timeout}}).startInitiator()
	}
	q := Question{18, "?", askSecretLengths}
	if a := q.Ask(t, s); a.Status != "not asked" {
		t.Errorf("got %+v", a)
	}
	t.Setenv(SettingsVariable, "1")
	if a := q.Ask(t, s); a.Status != "answered" {
		t.Errorf("got %+v", a)
	}
}

// Questions change only the disks that they attach. The default node has three others.
func TestQuestionsChangeOnlyTheirDisks(t *testing.T) {
	q := &inquiry{TB: t, Subject: emulatedSubject(t, scenario.Default().Switches)}
	d := q.attach()
	opens := func(disk uint32) bool {
		h, err := q.Subject.openDisk(disk)
		if err == nil {
			_ = h.Close()
		}
		return err == nil
	}
	if !opens(d.Number()) || opens(0) || opens(1) || opens(2) {
		t.Error("the inquiry opens a disk of the node to write, or its own not")
	}
	volumes, err := q.Kernel.VolumeNames()
	if err != nil || len(volumes) == 0 {
		t.Fatalf("the node has the volumes %q, %v", volumes, err)
	}
	for _, volume := range volumes {
		if q.Kernel.FormatVolume(volume, "NTFS") == nil {
			t.Errorf("%s was formatted", volume)
		}
	}
	q.check(d.Detach())
	if opens(d.Number()) {
		t.Error("it opens the disk that it has detached")
	}
}
