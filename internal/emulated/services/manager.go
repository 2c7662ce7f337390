// SPDX-License-Identifier: Apache-2.0

package services

import (
	"fmt"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// Query returns what the Service Control Manager says of a service. Each query brings a pending one closer to its
// state.
func (all List) Query(s *Service) kernel.Service {
	all.pass(s)
	info := kernel.Service{
		DisplayName: s.DisplayName, StartType: win32.ServiceStart(s.StartType),
		State: s.State, ExitCode: s.ExitCode, ServiceExitCode: s.ServiceExitCode,
	}
	switch s.State {
	case win32.SERVICE_START_PENDING, win32.SERVICE_STOP_PENDING:
		info.CheckPoint, info.WaitHint = uint32(s.Queries), 2000
	}
	return info
}

// pass counts a query for a pending service and those that it waits for.
func (all List) pass(s *Service) {
	switch s.State {
	case win32.SERVICE_START_PENDING:
		dependencies, _ := all.dependencies(s)
		for _, d := range dependencies {
			all.pass(d)
			switch d.State {
			case win32.SERVICE_RUNNING:
				continue
			case win32.SERVICE_STOPPED:
				s.enter(win32.SERVICE_STOPPED, win32.ERROR_SERVICE_DEPENDENCY_FAIL)
			}
			return
		}
		if s.arrived() {
			s.started()
		}
	case win32.SERVICE_STOP_PENDING:
		if s.arrived() {
			s.enter(win32.SERVICE_STOPPED, 0)
		}
	}
}

// arrived counts a query and reports whether the pending state is over.
func (s *Service) arrived() bool {
	s.Queries++
	return s.Queries > s.PendingQueries
}

// started sets the state of a service whose start is over.
func (s *Service) started() {
	s.enter(win32.SERVICE_RUNNING, 0)
	if s.StartExitCode != 0 {
		s.enter(win32.SERVICE_STOPPED, win32.Errno(s.StartExitCode))
		s.ServiceExitCode = s.StartServiceExitCode
	}
}

// enter puts a service into a state.
func (s *Service) enter(state win32.ServiceState, exit win32.Errno) {
	s.State, s.ExitCode, s.ServiceExitCode, s.Queries = state, uint32(exit), 0, 0
}

// Start begins to start a service and those that it needs.
//
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-startservicew
func (all List) Start(s *Service) error {
	if s.State != win32.SERVICE_STOPPED {
		return win32.ERROR_SERVICE_ALREADY_RUNNING
	}
	if s.StartType == Disabled {
		return win32.ERROR_SERVICE_DISABLED
	}
	dependencies, missing := all.dependencies(s)
	if missing {
		return win32.ERROR_SERVICE_DEPENDENCY_DELETED
	}
	for _, d := range dependencies {
		if d.State == win32.SERVICE_STOPPED && all.Start(d) != nil || d.State == win32.SERVICE_STOP_PENDING {
			return win32.ERROR_SERVICE_DEPENDENCY_FAIL
		}
	}
	s.enter(win32.SERVICE_START_PENDING, 0)
	return nil
}

// Stop begins to stop a service. Not confirmed: that ControlService looks for dependents before it checks which
// controls the service accepts.
//
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-controlservice
func (all List) Stop(s *Service) error {
	switch {
	case s.State == win32.SERVICE_STOPPED:
		return win32.ERROR_SERVICE_NOT_ACTIVE
	case len(all.Dependents(s)) > 0:
		return win32.ERROR_DEPENDENT_SERVICES_RUNNING
	case s.State == win32.SERVICE_START_PENDING || s.State == win32.SERVICE_STOP_PENDING:
		return win32.ERROR_SERVICE_CANNOT_ACCEPT_CTRL
	case s.Unstoppable:
		return win32.ERROR_INVALID_SERVICE_CONTROL
	}
	s.enter(win32.SERVICE_STOP_PENDING, 0)
	return nil
}

// Boot sets the services' states after a restart of Windows: those that start automatically run, with those that they
// need, unless one fails or is missing; all others are stopped.
func (all List) Boot() {
	for i := range all {
		all[i].enter(win32.SERVICE_STOPPED, win32.ERROR_SERVICE_NEVER_STARTED)
	}
	for i := range all {
		if all[i].StartType <= Automatic {
			all.boot(&all[i])
		}
	}
}

// boot starts a service and those that it needs, and reports whether it runs then.
func (all List) boot(s *Service) bool {
	if s.State == win32.SERVICE_RUNNING {
		return true
	}
	dependencies, missing := all.dependencies(s)
	if missing || s.StartType == Disabled ||
		slices.ContainsFunc(dependencies, func(d *Service) bool { return !all.boot(d) }) {
		s.ExitCode = uint32(win32.ERROR_SERVICE_DEPENDENCY_FAIL)
		return false
	}
	s.started()
	return s.State == win32.SERVICE_RUNNING
}

var (
	// ErrNoSuch means that there is no service of the name.
	ErrNoSuch = errdefs.NotFound.Errorf("NOT_FOUND", "no such service")
	// ErrInvalid means that a change of a service is not valid.
	ErrInvalid = errdefs.InvalidArgument.Errorf("INVALID_ARGUMENT", "invalid service")
)

// Set changes a service at once, as a failure or an administrator does. Another state that is pending begins now.
// Dependencies are ignored.
func (all List) Set(name string, change func(*Service)) error {
	s := all.Find(name)
	if s == nil {
		return fmt.Errorf("service %q: %w", name, ErrNoSuch)
	}
	before := s.State
	change(s)
	if s.State != before {
		s.enter(s.State, 0)
	}
	if err := all.checkOne(s); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}
