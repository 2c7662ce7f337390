// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"errors"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// service is a service in a document, as in scenario files but for its state now.
type service struct {
	services.FileSpec `yaml:",inline"`
	State             serviceState `yaml:"state"`
}

// serviceState is a state as SERVICE_STATUS_PROCESS numbers it.
type serviceState uint32

// states returns the words of the states, from SERVICE_STOPPED on.
func states() []string {
	return []string{"stopped", "start-pending", "stop-pending", "running", "continue-pending", "pause-pending", "paused"}
}

// UnmarshalYAML implements strictyaml.Unmarshaler.
func (s *serviceState) UnmarshalYAML(decode func(any) error) error {
	err := setting.DecodeWord(s, decode, states()...)
	*s++
	return err
}

// serviceList returns the services, with what Change changes.
func serviceList(n *emulated.Node) []any {
	return listed(n.Surroundings().Services, func(s services.Service) any {
		return map[string]any{"name": s.Name, "state": states()[s.State-1],
			"start": services.StartTypes()[s.StartType], "pendingQueries": s.PendingQueries}
	})
}

func (d *document) changeService(i int) (any, error) {
	given := &d.Services[i]
	return nil, d.node.SetService(given.Rest.Name, func(s *services.Service) error {
		return d.each(*given, map[string]func() error{
			"name":           nil,
			"state":          func() error { s.State = uint32(given.State); return nil },
			"start":          func() error { s.StartType = uint32(given.Start); return nil },
			"pendingQueries": func() error { s.PendingQueries = given.Rest.PendingQueries; return nil },
		}, "services", i)
	})
}

func switches(n *emulated.Node) map[string]any {
	all := map[string]any{}
	for _, s := range n.Surroundings().Switches.List() {
		all[s.Name] = s.Value
	}
	return all
}

// changeSwitches sets the switches that a document has.
func (d *document) changeSwitches(int) (any, error) {
	var errs []error
	for _, s := range d.Switches.List() {
		if d.file.Has("switches", s.Name) {
			errs = append(errs, d.node.SetSwitch(s.Name, s.Value))
		}
	}
	return nil, errors.Join(errs...)
}
