// SPDX-License-Identifier: Apache-2.0

// Package winservice runs a program as a Windows service and installs it as one. Portable files, tested everywhere,
// decide when each state is reported and what an installation changes.
package winservice

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

var (
	// ErrNotInstalled means that no service has the name.
	ErrNotInstalled = errors.New("the service is not installed")
	// ErrNotService means that the process was not started by the Service Control Manager.
	ErrNotService = errors.New("this process was not started by the Windows Service Control Manager")
)

// Installed is a service as Windows knows it.
type Installed struct {
	Definition
	State win32.ServiceState
	PID   uint32 // 0: no process
	// ExitCode is how it ended last: a Win32 code; with 1066, SpecificExitCode is the service's own.
	ExitCode, SpecificExitCode uint32
}

// A Manager is the Service Control Manager. Its methods name the service in their errors, and do not wait.
type Manager interface {
	ListServices() (names []string, err error)
	Query(name string) (Installed, error) // or ErrNotInstalled; without the description and PreShutdown
	Create(Definition) error
	Update(Definition) error
	Start(name string) error
	Stop(name string) error
	Delete(name string) error         // it goes once no process holds it open any more
	RegisterEvents(name string) error // makes an event source of that name, if there is none
	RemoveEvents(name string) error   // removes it, if it is there
	Close() error
}

// Changes is what Install did.
type Changes struct {
	Created bool
	Updated []string // the settings that differed, in words
}

// Install creates the service as defined, or sets all settings of an existing one, which take effect at its next start.
func Install(m Manager, d Definition) (changes Changes, err error) {
	installed, err := m.Query(d.Name)
	switch {
	case errors.Is(err, ErrNotInstalled):
		changes.Created = true
		err = m.Create(d)
	case err == nil:
		changes.Updated = d.differences(installed.Definition)
		err = m.Update(d)
	}
	if err != nil {
		return Changes{}, err
	}
	return changes, m.RegisterEvents(d.Name)
}

// Start starts a service, unless it is running, and waits until it runs. It waits first for one that is stopping.
func Start(ctx context.Context, m Manager, name string) error {
	s, err := await(ctx, m, name, func(is win32.ServiceState) bool { return is != win32.SERVICE_STOP_PENDING })
	if err == nil && s.State == win32.SERVICE_STOPPED {
		err = m.Start(name)
	}
	if err == nil {
		s, err = await(ctx, m, name, func(is win32.ServiceState) bool {
			return is == win32.SERVICE_RUNNING || is == win32.SERVICE_STOPPED
		})
	}
	if err == nil && s.State == win32.SERVICE_STOPPED {
		return fmt.Errorf("%s stopped again, with %s; the Event Log (source %s) and its log file say why", name, s.Exit(),
			name)
	}
	return err
}

// Exit returns how a service ended last, in words.
func (s Installed) Exit() string {
	if s.ExitCode == uint32(win32.ERROR_SERVICE_SPECIFIC_ERROR) {
		return fmt.Sprintf("exit code %d of its own", s.SpecificExitCode)
	}
	return fmt.Sprintf("Win32 exit code %d", s.ExitCode)
}

// Stop stops a service, unless it is stopped, and waits until it has stopped.
func Stop(ctx context.Context, m Manager, name string) error {
	// A service that is starting accepts no request to stop.
	s, err := await(ctx, m, name, func(is win32.ServiceState) bool { return is != win32.SERVICE_START_PENDING })
	if err == nil && s.State != win32.SERVICE_STOPPED && s.State != win32.SERVICE_STOP_PENDING {
		err = m.Stop(name)
	}
	if err == nil {
		_, err = await(ctx, m, name, func(is win32.ServiceState) bool { return is == win32.SERVICE_STOPPED })
	}
	return err
}

// Uninstall stops a service, waits, and removes it and its event source. It reports whether there was one.
func Uninstall(ctx context.Context, m Manager, name string) (found bool, err error) {
	err = Stop(ctx, m, name)
	if errors.Is(err, ErrNotInstalled) {
		return false, m.RemoveEvents(name)
	}
	if err == nil {
		err = m.Delete(name)
	}
	if err != nil && !errors.Is(err, ErrNotInstalled) {
		return true, err
	}
	// Until it is gone, no other one of its name can be made.
	// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-deleteservice
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if _, err = await(limited, m, name, func(win32.ServiceState) bool { return false }); errors.Is(err, ErrNotInstalled) {
		return true, m.RemoveEvents(name)
	}
	return true, errors.Join(fmt.Errorf("%s is marked for deletion, but a program holds it open: close services.msc, "+
		"Task Manager and monitoring agents, or restart Windows: %w", name, err), m.RemoveEvents(name))
}

// await waits until a service is in a state.
func await(ctx context.Context, m Manager, name string, done func(win32.ServiceState) bool) (Installed, error) {
	next := time.NewTicker(200 * time.Millisecond)
	defer next.Stop()
	for {
		s, err := m.Query(name)
		if err != nil || done(s.State) {
			return s, err
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			return s, fmt.Errorf("%s is still %v: %w", name, s.State, context.Cause(ctx))
		}
	}
}
