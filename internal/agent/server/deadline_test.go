// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"
	"time"
)

// TestCheckCallTimeout: the flag's help names both ends of the range, and 0.
func TestCheckCallTimeout(t *testing.T) {
	for limit, want := range map[time.Duration]bool{
		0: true, time.Second: true, 115 * time.Second: true,
		time.Second - 1: false, 115*time.Second + 1: false, -time.Second: false,
	} {
		if err := CheckCallTimeout(limit); (err == nil) != want {
			t.Errorf("%v: %v, want accepted: %t", limit, err, want)
		}
	}
}
