// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
)

func TestSetService(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{Scenario: withServices(
		services.Spec{Name: "base", StartType: win32.SERVICE_AUTO_START, Running: true, PendingQueries: 1},
		services.Spec{Name: "above", StartType: win32.SERVICE_AUTO_START, Running: true, Dependencies: []string{"base"}},
	)})
	must(t, n.SetService("BASE", services.Change{State: new(stopped)}))
	if b, a := queryService(t, n, "base").State, queryService(t, n, "above").State; b != stopped || a != running {
		t.Errorf("got %d, and above %d", b, a)
	}
	must(t, n.SetService("base", services.Change{State: new(starting), PendingQueries: new(2),
		StartType: new(win32.SERVICE_DISABLED)}))
	if d := cmp.Diff([]uint32{starting, starting, running}, states(t, n, "base", 3)); d != "" {
		t.Error(d)
	}
	must(t, n.Reboot())
	all := n.Services()
	if base := all[0]; base.State != stopped || base.StartType != win32.SERVICE_DISABLED || base.PendingQueries != 2 {
		t.Errorf("base: %+v", base)
	}
	if above := all[1]; above.State != stopped || above.StartType != win32.SERVICE_AUTO_START {
		t.Errorf("above: %+v", above)
	}
	if err := n.SetService("none", services.Change{}); !errors.Is(err, services.ErrNoSuch) {
		t.Errorf("got %v", err)
	}
	for name, c := range map[string]services.Change{
		"state": {State: new(uint32(8))}, "no state": {State: new(uint32(0))}, "start": {StartType: new(uint32(5))},
		"queries": {PendingQueries: new(-1)},
	} {
		if err := n.SetService("base", c); !errors.Is(err, services.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
