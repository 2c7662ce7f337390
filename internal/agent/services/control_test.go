// SPDX-License-Identifier: Apache-2.0

package services

import "testing"

func TestStatesInWords(t *testing.T) {
	for s, want := range map[state]string{0: "in an unknown state", 4: "running",
		7: "paused", 8: "in state 8"} {
		if got := s.String(); got != want {
			t.Errorf("%d: %q, want %q", uint32(s), got, want)
		}
	}
}
