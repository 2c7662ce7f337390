// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// A name becomes part of the policy only if a call with it succeeded and the policy does not read it as a pattern.
func TestSuggestedNames(t *testing.T) {
	line := func(method, request, code string) string {
		return `{"uid":7,"method":"/` + method + `","request":` + request + `,"code":"` + code + `"}` + "\n"
	}
	s, err := suggestPolicy(strings.NewReader(
		line("v1alpha1.System/GetService", `{"name":"MSiSCSI"}`, "OK") +
			line("v1alpha1.System/GetService", `{"name":"typo"}`, "NotFound") +
			line("v1alpha1.System/GetService", `{"name":"*"}`, "OK") +
			line("v1.Smb/NewSmbGlobalMapping", `{"remote_path":"\\\\tried\\share","local_path":"C:\\tried\\below"}`,
				"Unavailable") +
			line("v1alpha2.Iscsi/AddTargetPortal", `{"target_portal":{"target_address":"*.example.com"}}`, "OK") +
			line("v1alpha2.Iscsi/ConnectTarget", `{"target_portal":{"target_address":"192.0.2.1"},"iqn":"iqn.x:*"}`, "OK"),
	))
	if err != nil {
		t.Fatal(err)
	}
	if s.namesLeftOut != 6 || s.leftOut != 0 {
		t.Errorf("left out %d names and %d calls, want 6 and 0", s.namesLeftOut, s.leftOut)
	}
	text, err := s.text()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "*") || strings.Contains(string(text), "tried") ||
		strings.Contains(string(text), "typo") ||
		!strings.Contains(string(text), "MSiSCSI") || !strings.Contains(string(text), "192.0.2.1") {
		t.Errorf("suggested:\n%s", text)
	}
}
