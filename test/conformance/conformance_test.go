// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"slices"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// TestConformance: each method of each version fails with the right code, and refuses requests that no honest caller
// sends. That it does what it says is shown by the lives.
func TestConformance(t *testing.T) {
	all := listed(t, emulatedSite(t))
	for _, version := range sampled(t, all) {
		t.Run(version.group+" "+version.version, func(t *testing.T) {
			t.Parallel()
			conform(t, all, version)
		})
	}
}

// sampled returns all versions, or with -short, when all would take minutes, the newest of each group and
// every few before it.
func sampled(t *testing.T, all []served) []served {
	t.Helper()
	newest := slices.SortedStableFunc(slices.Values(all), func(a, b served) int {
		return int(apiversion.NewVersionOrPanic(b.version).Compare(apiversion.NewVersionOrPanic(a.version)))
	})
	var some []served
	age := map[string]int{} // of the version, in its group
	for _, s := range newest {
		if testnode.Sampled(t, age[s.group], 0, 1) {
			some = append(some, s)
		}
		age[s.group]++
	}
	return some
}

// conform tries all methods of one version on its own node.
func conform(t *testing.T, all []served, version served) {
	t.Helper()
	n := emulatedSite(t)
	wanted := []served{version}
	for _, group := range []string{"disk", "filesystem", "volume"} {
		if group != version.group {
			wanted = append(wanted, served{group, closest(all, group, version.version)})
		}
	}
	d := newDriver(t, n, all, wanted...)
	for _, m := range d.apis[0].methods {
		f, ok := failures()[m.operation]
		if !ok {
			t.Errorf("%v has no failure: add %q to failures", m, m.operation)
			continue
		}
		for what, try := range map[string]func(d *driver){
			"failure": func(d *driver) { f.fail(d, m.operation) },
			"hostile": func(d *driver) { attack(d, m) },
		} {
			m.failed = 0
			t.Run(m.name+" "+what, func(t *testing.T) {
				defer n.node.Faults.Release()
				try(d.with(t))
				if m.failed == 0 {
					t.Errorf("%v never failed", m)
				}
			})
		}
	}
}
