// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"flag"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// A scenario is what an operation must do in every version that has it. Each part gets a driver that calls the
// version under test and fails that part of the test.
type scenario struct {
	success, failure func(d *driver)
}

func (s scenario) part(k mark) func(*driver) {
	return map[mark]func(*driver){success: s.success, failure: s.failure}[k]
}

// scenarios returns the scenarios of all operations, by the hub's names.
func scenarios() map[string]scenario {
	all := map[string]scenario{}
	for _, group := range []map[string]scenario{diskScenarios(), fileScenarios(), volumeScenarios(), shareScenarios(),
		targetScenarios(), serviceScenarios(), stepScenarios()} {
		for operation, s := range group {
			all[operation] = s
		}
	}
	return all
}

func TestConformance(t *testing.T) { conformance(t, false) }

// TestConformanceInProcess: a driver that calls the node in its own process gets the same results as over the sockets.
func TestConformanceInProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nothing between caller and node depends on the system here")
	}
	if !testnode.Long() {
		t.Skip("require CSI_PROXY_LONG: package inprocess has the short test of this")
	}
	conformance(t, true)
}

func conformance(t *testing.T, inProcess bool) {
	t.Helper()
	all := listed(t, emulatedSite(t))
	tried := sampled(t, all)
	earned := newMarks()
	t.Run("of", func(t *testing.T) {
		for _, version := range tried {
			t.Run(version.group+" "+version.version, func(t *testing.T) {
				t.Parallel()
				conform(t, all, version, earned, inProcess)
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

// conform runs all scenarios of one version on its own node.
func conform(t *testing.T, all []served, version served, earned *marks, inProcess bool) {
	t.Helper()
	n := emulatedSite(t)
	n.direct = inProcess
	wanted := []served{version}
	for _, group := range []string{"disk", "filesystem", "volume"} {
		if group != version.group {
			wanted = append(wanted, served{group, closest(all, group, version.version)})
		}
	}
	d := newDriver(t, n, all, wanted...)
	for _, m := range d.apis[0].methods {
		s, ok := scenarios()[m.operation]
		if !ok {
			continue // the check of the marks reports it
		}
		for _, k := range allMarks() {
			part := s.part(k)
			if k == hostile {
				part = func(d *driver) { attack(d, m) }
			}
			m.succeeded, m.failed = 0, 0
			passed := t.Run(m.name+" "+k.String(), func(t *testing.T) {
				defer n.node.Faults.Release()
				part(d.with(t))
				if k == hostile && m.api.direct != nil {
					return // a method without fields takes nothing hostile in process
				}
				if !k.evidence(m) {
					t.Errorf("%v was called %d times with success and %d without", m, m.succeeded, m.failed)
				}
			})
			if passed {
				earned.give(m, k)
			}
		}
	}
}
