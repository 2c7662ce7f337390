// SPDX-License-Identifier: Apache-2.0

// Package winservice runs a program as a Windows service and installs it as one.
//
// All decisions are portable and tested everywhere: when each state is reported, what an installation changes. The
// calls of Windows are in small files of their own, whose names end in _windows.go.
package winservice

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNotInstalled means that no service has the name.
	ErrNotInstalled = errors.New("the service is not installed")
	// ErrNotService means that the process was not started by the Service Control Manager.
	ErrNotService = errors.New("this process was not started by the Windows Service Control Manager")
)

// poll is the interval at which a changing state of a service is queried.
const poll = 200 * time.Millisecond

// Installed is a service as Windows knows it.
type Installed struct {
	Definition
	State State
	PID   uint32 // 0: no process
	// ExitCode is how it ended last: a Win32 code; with 1066, SpecificExitCode is the service's own.
	ExitCode, SpecificExitCode uint32
}

// A Manager is the Service Control Manager. Each method acts on one service of the node and names it in its errors;
// none of them waits.
type Manager interface {
	// Query fails with ErrNotInstalled without such a service. It leaves out the description and PreShutdown.
	Query(name string) (Installed, error)
	// Agents returns the services that run a CSI Proxy, whatever their names.
	Agents() ([]Agent, error)
	Create(Definition) error
	Update(Definition) error
	Start(name string) error
	Stop(name string) error
	// Delete removes the service once no process holds it open any more.
	Delete(name string) error
	// RegisterEvents makes an event source of that name. An existing one is success.
	RegisterEvents(name string) error
	// RemoveEvents removes it. A missing one is success.
	RemoveEvents(name string) error
	Close() error
}

// Changes is what Install did.
type Changes struct {
	Created bool
	Updated []string // the settings that differed, in words
}

// Install creates the service as defined, or sets all settings of an existing one. A running service goes on unchanged
// until it is restarted.
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
	s, err := await(ctx, m, name, func(s Installed) bool { return s.State != StopPending })
	if err != nil {
		return err
	}
	if s.State == Stopped {
		if err := m.Start(name); err != nil {
			return err
		}
	}
	s, err = await(ctx, m, name, func(s Installed) bool { return s.State == Running || s.State == Stopped })
	if err == nil && s.State == Stopped {
		return fmt.Errorf("%s stopped again, with %s; the Event Log (source %s) and its log file say why", name, s.Exit(),
			name)
	}
	return err
}

// Exit returns how a service ended last, in words.
func (s Installed) Exit() string {
	const specific = 1066 // ERROR_SERVICE_SPECIFIC_ERROR
	if s.ExitCode == specific {
		return fmt.Sprintf("exit code %d of its own", s.SpecificExitCode)
	}
	return fmt.Sprintf("Win32 exit code %d", s.ExitCode)
}

// Stop stops a service, unless it is stopped, and waits until it has stopped.
func Stop(ctx context.Context, m Manager, name string) error {
	// A service that is starting accepts no request to stop.
	s, err := await(ctx, m, name, func(s Installed) bool { return s.State != StartPending })
	if err != nil {
		return err
	}
	if s.State != Stopped && s.State != StopPending {
		if err := m.Stop(name); err != nil {
			return err
		}
	}
	_, err = await(ctx, m, name, func(s Installed) bool { return s.State == Stopped })
	return err
}

// Uninstall stops a service, waits until it has stopped, and removes it and its event source. It reports whether there
// was such a service; none is success.
func Uninstall(ctx context.Context, m Manager, name string) (found bool, err error) {
	err = Stop(ctx, m, name)
	if errors.Is(err, ErrNotInstalled) {
		return false, m.RemoveEvents(name)
	}
	if err != nil {
		return true, err
	}
	if err := m.Delete(name); err != nil && !errors.Is(err, ErrNotInstalled) {
		return true, err
	}
	return true, errors.Join(gone(ctx, m, name), m.RemoveEvents(name))
}

// goneIn is how long a deleted service may still be there.
const goneIn = 30 * time.Second

// gone waits until a deleted service is not there any more: until then no other one of its name can be made.
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-deleteservice
func gone(ctx context.Context, m Manager, name string) error {
	limited, cancel := context.WithTimeout(ctx, goneIn)
	defer cancel()
	_, err := await(limited, m, name, func(Installed) bool { return false })
	if errors.Is(err, ErrNotInstalled) {
		return nil
	}
	return fmt.Errorf("%s is marked for deletion, but a program holds it open: close services.msc, Task Manager and "+
		"monitoring agents, or restart Windows: %w", name, err)
}

// await waits until a service is in a state.
func await(ctx context.Context, m Manager, name string, done func(Installed) bool) (Installed, error) {
	next := time.NewTicker(poll)
	defer next.Stop()
	for {
		s, err := m.Query(name)
		if err != nil || done(s) {
			return s, err
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			return s, fmt.Errorf("%s is still %v: %w", name, s.State, context.Cause(ctx))
		}
	}
}
