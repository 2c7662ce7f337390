// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
)

func TestSetService(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{Scenario: withServices(
		services.Spec{Name: "base", StartType: services.Automatic, Running: true, PendingQueries: 1},
		services.Spec{Name: "above", StartType: services.Automatic, Running: true, Dependencies: []string{"base"}},
	)})
	must(t, n.SetService("BASE", func(s *services.Service) { s.State = stopped }))
	if b, a := queryService(t, n, "base").State, queryService(t, n, "above").State; b != stopped || a != running {
		t.Errorf("got %d, and above %d", b, a)
	}
	must(t, n.SetService("base", func(s *services.Service) {
		s.State, s.PendingQueries, s.StartType = starting, 2, services.Disabled
	}))
	if d := cmp.Diff(inStates{starting, starting, running}, states(t, n, "base", 3)); d != "" {
		t.Error(d)
	}
	must(t, n.Reboot())
	all := n.Surroundings().Services
	if base := all[0]; base.State != stopped || base.StartType != services.Disabled || base.PendingQueries != 2 {
		t.Errorf("base: %+v", base)
	}
	if above := all[1]; above.State != stopped || above.StartType != services.Automatic {
		t.Errorf("above: %+v", above)
	}
	if err := n.SetService("none", nil); !errors.Is(err, services.ErrNoSuch) {
		t.Errorf("got %v", err)
	}
	for name, change := range map[string]func(*services.Service){
		"state":    func(s *services.Service) { s.State = 8 },
		"no state": func(s *services.Service) { s.State = 0 },
		"start":    func(s *services.Service) { s.StartType = 5 },
		"queries":  func(s *services.Service) { s.PendingQueries = -1 },
	} {
		err := n.SetService("base", change)
		if !errors.Is(err, services.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
