// SPDX-License-Identifier: Apache-2.0

package winservice

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withServices is a Manager of which only services is asked.
type withServices struct {
	services
	others
}

type others struct{ Manager }

// services is a Service Control Manager with services by name, each with its command or with an error.
type services map[string]any

func (s services) ListServices() ([]string, error) { return slices.Sorted(maps.Keys(s)), nil }

func (s services) Query(name string) (Installed, error) {
	err, _ := s[name].(error)
	command, _ := s[name].([]string)
	return Installed{Definition: Definition{Name: name, Command: command}}, err
}

// The services of agents are known by their names or by their program, whatever else cannot be read.
func TestAgents(t *testing.T) {
	denied := errors.New("access denied")
	node := withServices{services: services{
		"CSI-Proxy": []string{`C:\k\nssm.exe`}, "csiproxy": []string{`C:\k\csi-proxy.exe`, "-v=2"},
		"storage": []string{`C:\Program Files\x\CSI-Proxy.EXE`}, "kubelet": []string{`C:\k\kubelet.exe`, "csi-proxy.exe"},
		"nameless": []string{}, "closed": denied, "gone": ErrNotInstalled,
	}}
	agents, err := Agents(node)
	var names []string
	for _, a := range agents {
		names = append(names, a.Name)
	}
	if diff := cmp.Diff([]string{"CSI-Proxy", "csiproxy", "storage"}, names); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	node.services["csiproxy"] = denied
	if _, err := Agents(node); !errors.Is(err, denied) {
		t.Errorf("an agent's service cannot be read: %v", err)
	}
}
