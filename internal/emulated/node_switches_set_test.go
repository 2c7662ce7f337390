// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

// Every switch takes another answer than the default one, and keeps it across a restart.
func TestSetSwitch(t *testing.T) {
	dir := t.TempDir()
	n := openNode(t, dir, Options{Scenario: smallScenario()})
	other := map[string]string{"true": "false", "false": "true", "40": "16", scenario.MSRImmediate: scenario.MSRDelayed}
	want := n.Surroundings().Switches.List()
	for i, s := range want {
		answer := other[s.Value]
		switch s.Name {
		case "lacksPrivileges":
			answer = scenario.ManageVolume
		case "timing":
			answer = scenario.TimingWindows
		}
		if answer == "" || !slices.Contains(s.Answers, answer) {
			t.Errorf("%s is %q, of %q", s.Name, s.Value, s.Answers)
		}
		must(t, n.SetSwitch(s.Name, answer))
		want[i].Value = answer
	}
	if l := layoutOf(t, n, 1); l.Style != win32.PARTITION_STYLE_MBR {
		t.Errorf("an attached zeroed disk does not read otherwise at once: %+v", l)
	}
	must(t, n.Close())
	n = openNode(t, dir, Options{})
	if d := cmp.Diff(want, n.Surroundings().Switches.List()); d != "" {
		t.Error(d)
	}
	for name, answer := range map[string]string{"attributesVersion": "41", "createDiskClears": "maybe", "msr": "",
		"timing": "slow"} {
		if err := n.SetSwitch(name, answer); !errdefs.HasReason(err, "INVALID_ARGUMENT") {
			t.Errorf("%s %q: got %v", name, answer, err)
		}
	}
	if err := n.SetSwitch("none", "true"); !errdefs.HasReason(err, "NOT_FOUND") {
		t.Errorf("got %v", err)
	}
}
