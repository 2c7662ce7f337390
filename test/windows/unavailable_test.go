// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
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

// An account that may not log on is named as such, and its questions are not asked.
func TestLogonThatAPolicyRefuses(t *testing.T) {
	for code, right := range map[error]string{
		syscall.Errno(1385): "SeDenyNetworkLogonRight", win32.Errno(1385): "SeDenyNetworkLogonRight",
		win32.ERROR_ACCOUNT_RESTRICTION: "ERROR_ACCOUNT_RESTRICTION",
	} {
		s := emulatedSubject(t, scenario.Default().Switches)
		s.Kernel = unmappable{s.Kernel, fmt.Errorf("wrapped: %w", code)}
		for _, q := range shareQuestions() {
			if q.Number == 22 {
				continue // it asks for codes
			}
			if a := q.Ask(t, s); a.Status != "not asked" || !strings.Contains(a.Reason, right) {
				t.Errorf("%v: %v", code, a)
			}
		}
	}
	if err := machine.LogonRefused(win32.ERROR_LOGON_FAILURE); err != win32.ERROR_LOGON_FAILURE { //nolint:errorlint // exactly this
		t.Errorf("a wrong password: %v", err)
	}
}

// unmappable is a node whose mappings fail.
type unmappable struct {
	kernel.Kernel
	err error
}

func (k unmappable) CreateSMBGlobalMapping(string, string, kernel.Secret, bool) error { return k.err }

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
