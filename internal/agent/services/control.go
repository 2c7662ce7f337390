// SPDX-License-Identifier: Apache-2.0

// Package services starts and stops Windows services, and knows which ones no caller may stop.
package services

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// A Manager starts and stops Windows services, through the kernel calls of one operation.
type Manager struct {
	Kernel    kernel.Kernel
	Protected []string      // which no caller may stop
	Own       func() string // names the service that the agent works for; nil or "": the one that it usually is
}

// Query returns the configuration and the state of a service.
func (m Manager) Query(name string) (kernel.Service, error) {
	s, err := m.Kernel.QueryService(name)
	return s, failService(err, "asking about service "+name)
}

// pauseFor pauses once and reports whether there is still time. The first pauses of a state are short, because most
// services are quick. They grow up to a tenth of the service's wait hint, within limits, as the page of
// QueryServiceStatusEx advises.
func pauseFor(wait context.Context, round int, s kernel.Service) bool {
	longest := min(max(time.Duration(s.WaitHint)*time.Millisecond/10, 200*time.Millisecond), 2*time.Second)
	pause := time.NewTimer(min(5*time.Millisecond<<min(round, 10), longest))
	defer pause.Stop()
	select {
	case <-pause.C:
		return true
	case <-wait.Done():
		return false
	}
}

// Start makes a service run. If the service is between two states, it waits. Its context ends the wait for all services
// of an operation.
func (m Manager) Start(wait context.Context, name string) error {
	asked := false
	for round := 0; ; round++ {
		s, err := m.Query(name)
		if err != nil {
			return err
		}
		switch {
		case s.State == win32.SERVICE_RUNNING:
			return nil
		case s.State == win32.SERVICE_PAUSED:
			return errdefs.FailedPrecondition.Errorf(reason.ServicePaused,
				"service %s is paused; stop it first, then start it", name)
		case s.State == win32.SERVICE_STOPPED && asked:
			return stoppedAgain(name, s)
		case s.State == win32.SERVICE_STOPPED && wait.Err() == nil:
			err := m.Kernel.StartService(name)
			if err == nil {
				asked = true
				continue
			}
			// Another program was faster, or the service has not quite stopped: the next query shows which.
			if !errdefs.HasCode(err, win32.ERROR_SERVICE_ALREADY_RUNNING) {
				return failService(err, "starting service "+name)
			}
		}
		if !pauseFor(wait, round, s) {
			return stillPending(wait, "start", name, s)
		}
	}
}

// Stop makes a service stop, unless it is the agent's own or a protected one. See Start for its context.
func (m Manager) Stop(wait context.Context, name string, force bool) error {
	if err := m.mayStop(name); err != nil {
		return err
	}
	return m.stop(wait, name, force)
}

func (m Manager) stop(wait context.Context, name string, force bool) error {
	asked := false
	for round := 0; ; round++ {
		s, err := m.Query(name)
		if err != nil {
			return err
		}
		if s.State == win32.SERVICE_STOPPED {
			return nil
		}
		if s.State != win32.SERVICE_STOP_PENDING && !asked && wait.Err() == nil {
			if err := m.stopDependents(wait, name, force); err != nil {
				return err
			}
			err := m.Kernel.StopService(name)
			switch {
			case err == nil:
				asked = true
				continue
			case errdefs.HasCode(err, win32.ERROR_SERVICE_NOT_ACTIVE, win32.ERROR_SERVICE_CANNOT_ACCEPT_CTRL,
				win32.ERROR_DEPENDENT_SERVICES_RUNNING):
				// It is between two states, or a dependent has started meanwhile: the next query shows which.
			default:
				return failService(err, "stopping service "+name)
			}
		}
		if !pauseFor(wait, round, s) {
			return stillPending(wait, "stop", name, s)
		}
	}
}

// stopDependents stops the services that keep a service from stopping, if force allows it. It stops none if the agent
// or a protected service is among them.
func (m Manager) stopDependents(wait context.Context, name string, force bool) error {
	dependents, err := m.Kernel.DependentServices(name)
	if err != nil {
		return failService(err, "listing what depends on service "+name)
	}
	if err := m.mayStopDependents(name, dependents); err != nil {
		return err
	}
	if len(dependents) > 0 && !force {
		return errdefs.FailedPrecondition.Errorf(reason.DependentsRunning,
			"services that depend on %s are running: %s; stop them first, or set force", name, strings.Join(dependents, ", "))
	}
	for _, dependent := range dependents {
		if err := m.stop(wait, dependent, true); err != nil {
			var e *errdefs.Error
			if !errors.As(err, &e) {
				return err
			}
			return e.Class.WrapErrorf(err, e.Reason,
				"service %s must wait: %s", name, e.Message)
		}
	}
	return nil
}

// stoppedAgain returns the error for a service that was started and then stopped.
func stoppedAgain(name string, s kernel.Service) error {
	code := win32.Errno(s.ExitCode)
	var what string
	switch code {
	case 0:
		what = "without an error"
	case win32.ERROR_SERVICE_SPECIFIC_ERROR:
		what = fmt.Sprintf("with its own exit code %d", s.ServiceExitCode)
	default:
		what = fmt.Sprintf("with exit code %d: %v", uint32(code), code)
	}
	e := errdefs.Internal.Errorf(reason.ServiceFailed, "service %s stopped again while it was starting, %s", name, what)
	if code != 0 {
		e.Err = code
	}
	if class, known := serviceClass(code); known {
		e.Class = class // such as a dependency that did not start, or an account that cannot log on
	}
	return e
}

func stillPending(wait context.Context, verb, name string, s kernel.Service) error {
	class := errdefs.DeadlineExceeded
	if errors.Is(wait.Err(), context.Canceled) {
		class = errdefs.Canceled
	}
	return class.WrapErrorf(wait.Err(), reason.ServicePending,
		"service %s did not %s in time: it is %v, check point %d; it may still do so", name, verb,
		s.State, s.CheckPoint)
}

// failService is errdefs.Errorf with the reason of a service that does not exist.
func failService(err error, doing string) error {
	failed := errdefs.Errorf(err, "%s", doing)
	var e *errdefs.Error
	if errors.As(failed, &e) && errdefs.HasCode(err, win32.ERROR_SERVICE_DOES_NOT_EXIST) {
		e.Reason = reason.ServiceNotFound
	}
	return failed
}

// serviceClass returns the class of a code with which a service ended, if it says more than that it failed.
func serviceClass(code win32.Errno) (class errdefs.Class, known bool) {
	switch code {
	case win32.ERROR_SERVICE_DISABLED, win32.ERROR_SERVICE_LOGON_FAILED, win32.ERROR_INVALID_SERVICE_ACCOUNT,
		win32.ERROR_SERVICE_DEPENDENCY_FAIL, win32.ERROR_SERVICE_DEPENDENCY_DELETED, win32.ERROR_CIRCULAR_DEPENDENCY,
		win32.ERROR_SERVICE_MARKED_FOR_DELETE, win32.ERROR_INVALID_SERVICE_CONTROL, win32.ERROR_DEPENDENT_SERVICES_RUNNING:
		return errdefs.FailedPrecondition, true
	case win32.ERROR_SERVICE_DATABASE_LOCKED:
		return errdefs.Unavailable, true
	case win32.ERROR_SERVICE_START_HANG:
		return errdefs.DeadlineExceeded, true
	}
	return errdefs.Internal, false
}
