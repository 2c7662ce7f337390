// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

// A machine that cannot make virtual disks skips the parts that need them.
func TestNoDisks(t *testing.T) {
	k := &kit{}
	m := machine{freeBytes: minFree, noDisks: "a policy denies it"}
	m.System = proof.Windows
	needs := part{systems: []string{proof.Windows}, needs: []need{freeDisk}}
	if why := k.unmetNeed(needs, m); why != m.noDisks {
		t.Errorf("it lacks %q", why)
	}
	if m.noDisks = ""; k.unmetNeed(needs, m) != "" {
		t.Errorf("it lacks %q", k.unmetNeed(needs, m))
	}
}
