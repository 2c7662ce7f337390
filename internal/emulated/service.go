// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
)

// serviceControl is the node's Service Control Manager: kernel.Services, and what an administrator does.
type serviceControl struct {
	node     *Node
	services services.Manager
}

// change runs f on a copy of the services and keeps the result, unless f or the host fails.
func (c *serviceControl) change(function, name string,
	f func(all services.List, s *services.Service) error) error {
	n := c.node
	return n.call(function, name, func() error {
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
			return nil
		}
		return n.update(func(next *state) { next.Services = all })
	})
}

// QueryService implements kernel.Services. Each query brings a pending service closer to its state.
func (c *serviceControl) QueryService(name string) (info kernel.Service, err error) {
	err = c.change("OpenServiceW", name, func(all services.List, s *services.Service) error {
		info = c.services.Query(all, s)
		return nil
	})
	if err != nil {
		return kernel.Service{}, err
	}
	return info, nil
}

// StartService implements kernel.Services: it begins to start a service and those that it needs.
func (c *serviceControl) StartService(name string) error {
	return c.change("StartServiceW", name, c.services.Start)
}

// StopService implements kernel.Services: it begins to stop a service.
func (c *serviceControl) StopService(name string) error {
	return c.change("ControlService", name, c.services.Stop)
}

// DependentServices implements kernel.Services: the services that must be stopped first.
func (c *serviceControl) DependentServices(name string) (names []string, err error) {
	err = c.change("EnumDependentServicesW", name, func(all services.List, s *services.Service) error {
		for _, d := range all.Dependents(s) {
			names = append(names, d.Name)
		}
		return nil
	})
	return names, err
}

// boot sets the services' states after a restart of Windows.
func (c *serviceControl) boot() error {
	all := slices.Clone(c.node.state.Services)
	c.services.Boot(all)
	return c.node.update(func(next *state) { next.Services = all })
}

// Services returns the services. It is not a query: pending services make no progress.
func (c *serviceControl) Services() []services.Service {
	c.node.mu.Lock()
	defer c.node.mu.Unlock()
	return slices.Clone(c.node.state.Services)
}

// SetService changes a service at once, as a failure or an administrator does: see services.Manager.Set. Errors:
// services.ErrNoSuch, services.ErrInvalid.
func (c *serviceControl) SetService(name string, change func(*services.Service) error) error {
	return c.node.control(func() error {
		all := slices.Clone(c.node.state.Services)
		if err := c.services.Set(all, name, change); err != nil {
			return err
		}
		return c.node.update(func(next *state) { next.Services = all })
	})
}
