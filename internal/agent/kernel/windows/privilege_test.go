// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"errors"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func TestEnablePrivilege(t *testing.T) {
	for _, test := range []struct {
		name string
		want error
	}{
		{"SeChangeNotifyPrivilege", nil},                       // all accounts have it
		{"SeSyncAgentPrivilege", win32.ERROR_NOT_ALL_ASSIGNED}, // no account has it, unless a domain grants it
		{"SeNoSuchThingPrivilege", win32.ERROR_NO_SUCH_PRIVILEGE},
		{"SeChange\x00NotifyPrivilege", win32.ERROR_INVALID_NAME},
		{"", win32.ERROR_NO_SUCH_PRIVILEGE},
	} {
		if err := (Kernel{}).EnablePrivilege(test.name); !errors.Is(err, test.want) {
			t.Errorf("%q: got %v, want %v", test.name, err, test.want)
		}
	}
}

// TestPrivilegesOfThisProcess shows what the account of the test has of the agent's privileges.
func TestPrivilegesOfThisProcess(t *testing.T) {
	for _, name := range []string{"SeCreateSymbolicLinkPrivilege", "SeLoadDriverPrivilege", "SeManageVolumePrivilege"} {
		err := Kernel{}.EnablePrivilege(name)
		t.Logf("%s: %v", name, err)
		if err != nil && !errors.Is(err, win32.ERROR_NOT_ALL_ASSIGNED) && !onWine() {
			t.Errorf("%s: %v", name, err)
		}
	}
}
