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
	list := []any{}
	for _, s := range n.Services() {
		list = append(list, map[string]any{"name": s.Name, "state": states()[s.State-1],
			"start": services.StartTypes()[s.StartType], "pendingQueries": s.PendingQueries})
	}
	return list
}

func (d *document) changeService(i int) (any, error) {
	s, c := &d.Services[i], services.Change{}
	err := d.each(*s, map[string]func() error{
		"name":           nil,
		"state":          func() error { c.State = new(uint32(s.State)); return nil },
		"start":          func() error { c.StartType = new(uint32(s.Start)); return nil },
		"pendingQueries": func() error { c.PendingQueries = &s.Rest.PendingQueries; return nil },
	}, "services", i)
	if err != nil {
		return nil, err
	}
	return nil, d.node.SetService(s.Rest.Name, c)
}

func switches(n *emulated.Node) map[string]any {
	all := map[string]any{}
	for _, s := range n.Switches() {
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
