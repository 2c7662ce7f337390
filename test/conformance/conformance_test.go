// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// TestConformance: each method of each version fails with the right code, and refuses requests that no honest caller
// sends. That it does what it says is shown by the lives.
func TestConformance(t *testing.T) {
	all := listed(t, emulatedSite(t))
	tried := sampled(t, all)
	earned := newMarks()
	t.Run("of", func(t *testing.T) {
		for _, version := range tried {
			t.Run(version.group+" "+version.version, func(t *testing.T) {
				t.Parallel()
				conform(t, all, version, earned)
			})
		}
	})
	if only := flag.Lookup("test.run").Value.String(); strings.Contains(only, "/") {
		t.Skipf("only a part ran (%s), so gaps are not checked", only)
	}
	earned.check(t, tried)
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
func conform(t *testing.T, all []served, version served, earned *marks) {
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
			continue // the check of the marks reports it
		}
		for _, k := range []mark{failed, hostile} {
			m.failed = 0
			passed := t.Run(m.name+" "+k.String(), func(t *testing.T) {
				defer n.node.Faults.Release()
				if k == failed {
					f.fail(d.with(t), m.operation)
				} else {
					attack(d.with(t), m)
				}
				if m.failed == 0 {
					t.Errorf("%v never failed", m)
				}
			})
			if passed {
				earned.give(m, k)
			}
		}
	}
}
