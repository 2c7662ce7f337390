// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
)

// changeService runs f on a copy of the services and keeps the result, unless f or the host fails.
func (n *Node) changeService(function, name string,
	f func(all services.List, s *services.Service) error) (err error) {
	defer n.call(function, name, &err)()
	if !services.IsName(name) {
		return win32.ERROR_INVALID_NAME
	}
	all := slices.Clone(n.state.Services)
	s := all.Find(name)
	if s == nil {
		return win32.ERROR_SERVICE_DOES_NOT_EXIST
	}
	if err := f(all, s); err != nil {
		return err
	}
	if slices.EqualFunc(all, n.state.Services, func(a, b services.Service) bool { return a.State == b.State }) {
		n.state.Services = all // with the queries, which node.json does not keep
		return nil
	}
	return n.update(func(next *state) { next.Services = all })
}

// QueryService implements kernel.Services. Each query brings a pending service closer to its state.
func (n *Node) QueryService(name string) (info kernel.Service, err error) {
	err = n.changeService("OpenServiceW", name, func(all services.List, s *services.Service) error {
		info = all.Query(s)
		return nil
	})
	return info, err
}

// StartService implements kernel.Services: it begins to start a service and those that it needs.
func (n *Node) StartService(name string) error {
	return n.changeService("StartServiceW", name, services.List.Start)
}

// StopService implements kernel.Services: it begins to stop a service.
func (n *Node) StopService(name string) error {
	return n.changeService("ControlService", name, services.List.Stop)
}

// DependentServices implements kernel.Services: the services that must be stopped first.
func (n *Node) DependentServices(name string) (names []string, err error) {
	err = n.changeService("EnumDependentServicesW", name, func(all services.List, s *services.Service) error {
		for _, d := range all.Dependents(s) {
			names = append(names, d.Name)
		}
		return nil
	})
	return names, err
}

// SetService changes a service at once, as a failure or an administrator does: see services.List.Set. Errors:
// services.ErrNoSuch, services.ErrInvalid.
func (n *Node) SetService(name string, change func(*services.Service)) error {
	defer n.control()()
	all := slices.Clone(n.state.Services)
	if err := all.Set(name, change); err != nil {
		return err
	}
	return n.update(func(next *state) { next.Services = all })
}
