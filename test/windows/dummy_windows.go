// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winservice"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
)

// serviceArgument is the first argument of a test program that Windows starts as a service. The second is the service's
// name; others are a program and its arguments, which the service runs once.
const serviceArgument = "csi-proxy-dummy-service"

// ServedAsService does nothing in a test program that was started as usual. In one that Windows started as a service of
// NewServices or AsSystem, it is that service, and reports true when it was stopped. TestMain calls it first.
func ServedAsService() bool {
	if len(os.Args) < 3 || os.Args[1] != serviceArgument {
		return false
	}
	if err := svc.Run(os.Args[2], dummy(os.Args[3:])); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err) // for a person that starts it by hand
	}
	return true
}

// A dummy is a service that does nothing, or runs one command, until it is stopped.
type dummy []string

// Execute is the service.
func (d dummy) Execute(_ []string, requests <-chan svc.ChangeRequest,
	status chan<- svc.Status) (specific bool, code uint32) {
	status <- svc.Status{State: svc.Running, Accepts: svc.AcceptStop | svc.AcceptShutdown}
	ended := make(chan uint32, 1)
	if len(d) > 0 {
		go func() {
			var failed *exec.ExitError
			switch err := exec.Command(d[0], d[1:]...).Run(); { //nolint:gosec // the test that made the service says which
			case err == nil:
				ended <- 0
			case errors.As(err, &failed):
				ended <- uint32(failed.ExitCode())
			default:
				ended <- uint32(windows.ERROR_FILE_NOT_FOUND)
			}
		}()
	}
	for {
		select {
		case code := <-ended:
			return true, code
		case r := <-requests:
			switch r.Cmd {
			case svc.Interrogate:
				status <- r.CurrentStatus
			case svc.Stop, svc.Shutdown:
				return false, 0
			}
		}
	}
}

// NewServices makes two services that do nothing, until the test ends: Windows starts them on demand, and the second
// needs the first.
func NewServices(t testing.TB) (name, dependent string) {
	t.Helper()
	name, dependent = machine.RandomName(), machine.RandomName()
	check(t, newService(t, name, ""))
	check(t, newService(t, dependent, name))
	return name, dependent
}

// newService makes a service of this program until the test ends, which needs another one unless its name is empty.
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-createservicew
func newService(t testing.TB, name, needs string, command ...string) error {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	manager, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT|windows.SC_MANAGER_CREATE_SERVICE)
	if err != nil {
		return fmt.Errorf("OpenSCManager: %w", err)
	}
	defer func() { _ = windows.CloseServiceHandle(manager) }()
	texts, err := wide(name, windows.ComposeCommandLine(append([]string{program, serviceArgument, name}, command...)))
	if err != nil {
		return err
	}
	var dependencies *uint16
	if needs != "" {
		list, err := windows.UTF16FromString(needs)
		if err != nil {
			return err
		}
		dependencies = &append(list, 0)[0] // a list ends with an empty name
	}
	service, err := windows.CreateService(manager, texts[0], texts[0], windows.SERVICE_ALL_ACCESS,
		windows.SERVICE_WIN32_OWN_PROCESS,
		windows.SERVICE_DEMAND_START, windows.SERVICE_ERROR_NORMAL, texts[1], nil, nil, dependencies, nil, nil)
	if err != nil {
		return fmt.Errorf("CreateService %s: %w", name, err)
	}
	atEnd(t, "removing the service "+name, func(ctx context.Context) error {
		return withServices(func(m winservice.Manager) error {
			_, err := winservice.Uninstall(ctx, m, name)
			return err
		})
	})
	return windows.CloseServiceHandle(service)
}

// withServices calls a function with the Service Control Manager.
func withServices(do func(m winservice.Manager) error) error {
	m, err := winservice.Connect()
	if err != nil {
		return err
	}
	defer func() { _ = m.Close() }()
	return do(m)
}

// start starts a service that may be started, and stops it when the test ends if it was stopped.
func start(t testing.TB, name, what string) {
	t.Helper()
	check(t, withServices(func(m winservice.Manager) error {
		s, err := m.Query(name)
		if errors.Is(err, winservice.ErrNotInstalled) {
			err = Unavailable("there is no " + what + " on this machine")
		}
		if err == nil {
			err = mayStart(what, s.State, s.Start)
		}
		if err != nil || s.State == win32.SERVICE_RUNNING {
			return err
		}
		atEnd(t, "stopping "+name, func(ctx context.Context) error {
			return withServices(func(m winservice.Manager) error { return winservice.Stop(ctx, m, name) })
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		return winservice.Start(ctx, m, name)
	}))
}

// wide converts texts to the NUL-terminated form that Windows takes.
func wide(texts ...string) (all []*uint16, err error) {
	for _, text := range texts {
		p, err := windows.UTF16PtrFromString(text)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		all = append(all, p)
	}
	return all, nil
}
