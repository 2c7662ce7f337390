// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// The Service Control Manager of the node. The checks and their order follow the pages of StartServiceW and
// ControlService. Not confirmed: that ControlService looks for dependents before it checks which controls the service
// accepts.

// changeServices runs f on a copy of the services and keeps the result, unless f or the host fails.
func (n *Node) changeServices(function, name string, f func(all services, s *NodeService) error) error {
	return n.call(function, name, func() error {
		if !isServiceName(name) {
			return win32.ERROR_INVALID_NAME
		}
		all := slices.Clone(n.state.Services)
		s := all.find(name)
		if s == nil {
			return win32.ERROR_SERVICE_DOES_NOT_EXIST
		}
		if err := f(all, s); err != nil {
			return err
		}
		if slices.EqualFunc(all, n.state.Services, func(a, b NodeService) bool { return a.State == b.State }) {
			return nil
		}
		return n.update(func(next *state) { next.Services = all })
	})
}

// QueryService implements kernel.Services. Each query brings a pending service closer to its state.
func (n *Node) QueryService(name string) (info kernel.Service, err error) {
	err = n.changeServices("OpenServiceW", name, func(all services, s *NodeService) error {
		n.passService(all, s)
		info = n.describeService(all, s)
		return nil
	})
	if err != nil {
		return kernel.Service{}, err
	}
	return info, nil
}

func (n *Node) describeService(all services, s *NodeService) kernel.Service {
	info := kernel.Service{
		DisplayName: s.DisplayName, StartType: s.StartType, Dependencies: slices.Clone(s.Dependencies),
		State: s.State, ExitCode: s.ExitCode, ServiceExitCode: s.ServiceExitCode,
	}
	switch s.State {
	case win32.SERVICE_START_PENDING, win32.SERVICE_STOP_PENDING:
		info.CheckPoint, info.WaitHint = uint32(n.steps[winpath.Fold(s.Name)]), 2000
	case win32.SERVICE_RUNNING:
		if !s.Unstoppable {
			info.Accepted = win32.SERVICE_ACCEPT_STOP
		}
	}
	if s.State != win32.SERVICE_STOPPED {
		index := slices.IndexFunc(all, func(o NodeService) bool { return o.Name == s.Name })
		info.ProcessID = uint32(1000 + 4*index)
	}
	return info
}

// passService counts a query for a pending service and those that it waits for.
func (n *Node) passService(all services, s *NodeService) {
	switch s.State {
	case win32.SERVICE_START_PENDING:
		dependencies, _ := all.dependencies(s)
		for _, d := range dependencies {
			n.passService(all, d)
			if d.State == win32.SERVICE_STOPPED {
				s.State, s.ExitCode, s.ServiceExitCode = win32.SERVICE_STOPPED, uint32(win32.ERROR_SERVICE_DEPENDENCY_FAIL), 0
				return
			}
			if d.State != win32.SERVICE_RUNNING {
				return
			}
		}
		if n.serviceArrived(s) {
			s.started()
		}
	case win32.SERVICE_STOP_PENDING:
		if n.serviceArrived(s) {
			s.State, s.ExitCode, s.ServiceExitCode = win32.SERVICE_STOPPED, 0, 0
		}
	}
}

// serviceArrived counts a query and reports whether the pending state is over.
func (n *Node) serviceArrived(s *NodeService) bool {
	key := winpath.Fold(s.Name)
	if n.steps[key]++; n.steps[key] <= s.PendingQueries || n.state.Clock.now().Before(s.Since.Add(s.PendingTime)) {
		return false
	}
	delete(n.steps, key)
	return true
}

// started sets the state of a service whose start is over.
func (s *NodeService) started() {
	s.State, s.ExitCode, s.ServiceExitCode = win32.SERVICE_RUNNING, 0, 0
	if s.StartExitCode != 0 {
		s.State, s.ExitCode, s.ServiceExitCode = win32.SERVICE_STOPPED, s.StartExitCode, s.StartServiceExitCode
	}
}

// StartService begins to start a service and those that it needs.
//
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-startservicew
func (n *Node) StartService(name string) error {
	return n.changeServices("StartServiceW", name, n.launchService)
}

func (n *Node) launchService(all services, s *NodeService) error {
	if s.State != win32.SERVICE_STOPPED {
		return win32.ERROR_SERVICE_ALREADY_RUNNING
	}
	if s.StartType == win32.SERVICE_DISABLED {
		return win32.ERROR_SERVICE_DISABLED
	}
	dependencies, missing := all.dependencies(s)
	if missing {
		return win32.ERROR_SERVICE_DEPENDENCY_DELETED
	}
	for _, d := range dependencies {
		if d.State == win32.SERVICE_STOPPED && n.launchService(all, d) != nil || d.State == win32.SERVICE_STOP_PENDING {
			return win32.ERROR_SERVICE_DEPENDENCY_FAIL
		}
	}
	s.State, s.Since, s.ExitCode, s.ServiceExitCode = win32.SERVICE_START_PENDING, n.state.Clock.now().Round(0), 0, 0
	delete(n.steps, winpath.Fold(s.Name))
	return nil
}

// StopService begins to stop a service.
//
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-controlservice
func (n *Node) StopService(name string) error {
	return n.changeServices("ControlService", name, func(all services, s *NodeService) error {
		switch {
		case s.State == win32.SERVICE_STOPPED:
			return win32.ERROR_SERVICE_NOT_ACTIVE
		case len(all.dependents(s)) > 0:
			return win32.ERROR_DEPENDENT_SERVICES_RUNNING
		case s.State == win32.SERVICE_START_PENDING || s.State == win32.SERVICE_STOP_PENDING:
			return win32.ERROR_SERVICE_CANNOT_ACCEPT_CTRL
		case s.Unstoppable:
			return win32.ERROR_INVALID_SERVICE_CONTROL
		}
		s.State, s.Since = win32.SERVICE_STOP_PENDING, n.state.Clock.now().Round(0)
		delete(n.steps, winpath.Fold(s.Name))
		return nil
	})
}

// DependentServices returns the services that must be stopped first.
func (n *Node) DependentServices(name string) (names []string, err error) {
	err = n.changeServices("EnumDependentServicesW", name, func(all services, s *NodeService) error {
		for _, d := range all.dependents(s) {
			names = append(names, d.Name)
		}
		return nil
	})
	return names, err
}

// bootServices sets the services' states after a restart of Windows: those that start automatically run, with those
// that they need, unless one fails or is missing; all others are stopped.
func (n *Node) bootServices() error {
	all := slices.Clone(n.state.Services)
	for i := range all {
		all[i].State, all[i].ExitCode, all[i].ServiceExitCode = win32.SERVICE_STOPPED, neverStarted, 0
	}
	for i := range all {
		if all[i].StartType <= win32.SERVICE_AUTO_START {
			all.boot(&all[i])
		}
	}
	clear(n.steps)
	return n.update(func(next *state) { next.Services = all })
}

// boot starts a service and those that it needs, and reports whether it runs then.
func (all services) boot(s *NodeService) bool {
	if s.State == win32.SERVICE_RUNNING {
		return true
	}
	dependencies, missing := all.dependencies(s)
	if missing || s.StartType == win32.SERVICE_DISABLED || !allOf(dependencies, all.boot) {
		s.ExitCode = uint32(win32.ERROR_SERVICE_DEPENDENCY_FAIL)
		return false
	}
	s.started()
	return s.State == win32.SERVICE_RUNNING
}

func allOf[T any](list []T, is func(T) bool) bool {
	return !slices.ContainsFunc(list, func(v T) bool { return !is(v) })
}

var (
	// ErrNoSuchService means that there is no service of the name.
	ErrNoSuchService = errors.New("no such service")
	// ErrInvalidService means that a change of a service is not valid.
	ErrInvalidService = errors.New("invalid service")
)

// ServiceChange is a change of a service. A nil field stays.
type ServiceChange struct {
	State          *uint32 // win32.SERVICE_STOPPED and so on
	StartType      *uint32 // win32.SERVICE_BOOT_START to SERVICE_DISABLED
	PendingQueries *int
	PendingTime    *time.Duration
}

// Services returns the services. It is not a query: pending services make no progress.
func (n *Node) Services() []NodeService {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.state.Services)
}

// SetService changes a service at once, as a failure or an administrator does. A pending state begins now. Dependencies
// are ignored.
func (n *Node) SetService(name string, change ServiceChange) error {
	return n.control(func() error {
		all := slices.Clone(n.state.Services)
		s := all.find(name)
		if s == nil {
			return fmt.Errorf("service %q: %w", name, ErrNoSuchService)
		}
		if change.State != nil {
			s.State, s.Since, s.ExitCode, s.ServiceExitCode = *change.State, n.state.Clock.now().Round(0), 0, 0
			delete(n.steps, winpath.Fold(s.Name))
		}
		set(&s.StartType, change.StartType)
		set(&s.PendingQueries, change.PendingQueries)
		set(&s.PendingTime, change.PendingTime)
		if err := all.checkOne(s); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalidService, err)
		}
		return n.update(func(next *state) { next.Services = all })
	})
}

// set sets a field, unless the value is nil.
func set[T any](field, given *T) {
	if given != nil {
		*field = *given
	}
}
