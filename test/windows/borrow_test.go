// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/winservice"
)

// What the owner of a machine uses, or has switched off, is not borrowed.
func TestWhatIsBorrowed(t *testing.T) {
	for name, test := range map[string]struct {
		refused error
		want    bool
	}{
		"a service that runs":                        {mayStart("target server", winservice.Running, winservice.Automatic), false},
		"one that is started on demand":              {mayStart("x", winservice.Stopped, winservice.Manual), false},
		"one that was stopped":                       {mayStart("x", winservice.Stopped, winservice.Automatic), true},
		"one that is switched off":                   {mayStart("x", winservice.Stopped, winservice.Disabled), true},
		"a target server without targets":            {servesNobody(nil), false},
		"one with the tests' own":                    {servesNobody([]string{randomName()}), false},
		"one with a target of somebody":              {servesNobody([]string{randomName(), "backup"}), true},
		"one with a target that looks like a test's": {servesNobody([]string{namePrefix + "backup"}), true},
	} {
		var refused NotHere
		if errors.As(test.refused, &refused) != test.want {
			t.Errorf("%s: got %v", name, test.refused)
		}
	}
}

// The secret for mutual CHAP is set only on a machine whose owner has said so.
func TestTheSecretIsLeftAlone(t *testing.T) {
	t.Setenv(CHAPVariable, "")
	s := emulatedSubject(t, emulated.DefaultSwitches())
	s.Initiator = func(t testing.TB) error { // as of a machine
		t.Helper()
		return startInitiator(t, Subject{Kernel: s.Kernel, Patience: s.Patience})
	}
	q := Question{18, "?", askSecretLengths}
	if a := q.Ask(t, s); a.Status != "not asked" {
		t.Errorf("got %+v", a)
	}
	t.Setenv(CHAPVariable, "1")
	if a := q.Ask(t, s); a.Status != "answered" {
		t.Errorf("got %+v", a)
	}
}
