// SPDX-License-Identifier: Apache-2.0

package winservice

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"
)

// Run runs a task as the Windows service of that name and returns when the service has ended, successfully or not, and
// the Service Control Manager and the Event Log have been told. It returns ErrNotService in a process that the Service
// Control Manager did not start. Call it within 30 seconds of the process's start, before anything that may take time.
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-startservicectrldispatcherw
func Run(name string, task Task) error {
	// A service is a console process as well: while it is still stopping it gets CTRL_SHUTDOWN_EVENT, which ends it
	// unless the event is handled.
	shutdowns := make(chan os.Signal, 1)
	signal.Notify(shutdowns, syscall.SIGTERM)
	defer signal.Stop(shutdowns)

	events := openEvents(name)
	defer events.close()
	err := svc.Run(name, handler{task, events})
	switch {
	case errors.Is(err, windows.ERROR_FAILED_SERVICE_CONTROLLER_CONNECT):
		return ErrNotService
	case err != nil:
		return fmt.Errorf("the service dispatcher: %w", err)
	}
	return nil
}

// handler is a task as package svc calls it.
type handler struct {
	task   Task
	events Events
}

// Execute is ServiceMain. A goroutine receives all requests until Execute returns, as Windows waits until each has been
// received.
func (h handler) Execute(_ []string, controls <-chan svc.ChangeRequest,
	statuses chan<- svc.Status) (specific bool, code uint32) {
	requests, done := make(chan request), make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case c := <-controls:
				select {
				case requests <- requestOf(c.Cmd):
				case <-done:
					return
				}
			case <-done:
				return
			}
		}
	}()
	l := loop{task: h.task, events: h.events, report: func(r report) { statuses <- status(r) }}
	return true, l.run(requests)
}

func requestOf(c svc.Cmd) request {
	switch c {
	case svc.Stop:
		return stop
	case svc.Shutdown, svc.PreShutdown:
		return shutdown
	}
	return interrogate
}

func status(r report) svc.Status {
	s := svc.Status{State: svc.State(r.state), CheckPoint: r.checkPoint, WaitHint: uint32(r.hint.Milliseconds())}
	if r.stoppable {
		s.Accepts = svc.AcceptStop | svc.AcceptShutdown | svc.AcceptPreShutdown
	}
	return s
}
