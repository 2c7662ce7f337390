// SPDX-License-Identifier: Apache-2.0

package winservice

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrNotInstalled says that there is no service of that name.
var ErrNotInstalled = errors.New("the service is not installed")

// poll is how often a service's state is asked for while it changes.
const poll = 200 * time.Millisecond

// Installed is a service as Windows knows it.
type Installed struct {
	Definition
	State State
	PID   uint32 // 0: no process
	// ExitCode is how it ended last: a Win32 code, and beside 1066 the service's own.
	ExitCode, SpecificExitCode uint32
}

// A Manager is the Service Control Manager. Its methods are about one service of the node each, and name it in their
// errors; none of them waits.
type Manager interface {
	// Query returns ErrNotInstalled when there is no such service.
	Query(name string) (Installed, error)
	Create(Definition) error
	Update(Definition) error
	Start(name string) error
	Stop(name string) error
	// Delete takes the service away once nobody holds it open any more.
	Delete(name string) error
	// RegisterEvents makes an event source of that name; one that exists is success.
	RegisterEvents(name string) error
	// RemoveEvents takes it away; none is success.
	RemoveEvents(name string) error
	Close() error
}

// Changes is what Install did.
type Changes struct {
	Created bool
	Updated []string // what was otherwise before, in words
}

// Install makes the service as it is defined, or makes the one that exists so. A service that is running goes on as it
// is until it is restarted.
func Install(m Manager, d Definition) (Changes, error) {
	installed, err := m.Query(d.Name)
	switch {
	case errors.Is(err, ErrNotInstalled):
		if err := m.Create(d); err != nil {
			return Changes{}, err
		}
		return Changes{Created: true}, m.RegisterEvents(d.Name)
	case err != nil:
		return Changes{}, err
	}
	changes := Changes{Updated: d.differences(installed.Definition)}
	if len(changes.Updated) > 0 {
		if err := m.Update(d); err != nil {
			return Changes{}, err
		}
	}
	return changes, m.RegisterEvents(d.Name)
}

// Start starts a service, unless it is running, and waits until it does. One that is stopping is waited for first.
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
		return fmt.Errorf("%s stopped again, with %s; the Event Log (source %s) and its log file say why", name, s.Exit(), name)
	}
	return err
}

// Exit says how a service ended last.
func (s Installed) Exit() string {
	const specific = 1066 // ERROR_SERVICE_SPECIFIC_ERROR
	if s.ExitCode == specific {
		return fmt.Sprintf("exit code %d of its own", s.SpecificExitCode)
	}
	return fmt.Sprintf("Win32 exit code %d", s.ExitCode)
}

// Stop stops a service, unless it is stopped, and waits until it is.
func Stop(ctx context.Context, m Manager, name string) error {
	// A service that starts takes no request to stop.
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

// Uninstall stops a service, waits for that, and takes it and its event source away. It tells whether there was one:
// no service is success.
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
	return true, m.RemoveEvents(name)
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
