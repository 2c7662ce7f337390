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
	"golang.org/x/sys/windows/svc/eventlog"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// Run runs a task as the Windows service that was started and returns when the service has ended, successfully or not,
// and the Service Control Manager and the Event Log have been told. It returns ErrNotService in a process that the
// Service Control Manager did not start. Call it within 30 seconds of the process's start, before anything slow.
// A service with a process of its own may have any name: Windows ignores the one that the process gives.
// https://learn.microsoft.com/windows/win32/api/winsvc/ns-winsvc-service_table_entryw
func Run(task Task) error {
	// A service is a console process, too: as it stops it gets CTRL_SHUTDOWN_EVENT, which ends it unless handled.
	shutdowns := make(chan os.Signal, 1)
	signal.Notify(shutdowns, syscall.SIGTERM)
	defer signal.Stop(shutdowns)

	err := svc.Run("", handler{task})
	switch {
	case errors.Is(err, windows.ERROR_FAILED_SERVICE_CONTROLLER_CONNECT):
		return ErrNotService
	case err != nil:
		return fmt.Errorf("the service dispatcher: %w", err)
	}
	return nil
}

// handler is a task as package svc calls it.
type handler struct{ task Task }

// Execute is ServiceMain, whose first argument is the service's name.
func (h handler) Execute(args []string, controls <-chan svc.ChangeRequest,
	statuses chan<- svc.Status) (specific bool, code uint32) {
	events, err := eventlog.Open(args[0])
	if err != nil {
		events = &eventlog.Log{} // takes no records
	}
	defer func() { _ = events.Close() }()
	l := loop{task: h.task, events: events, report: func(state win32.ServiceState, checkPoint uint32) {
		now := svc.Status{State: svc.State(state), Accepts: svc.AcceptStop | svc.AcceptShutdown | svc.AcceptPreShutdown}
		if checkPoint > 0 {
			now.Accepts, now.CheckPoint, now.WaitHint = 0, checkPoint, uint32(hint.Milliseconds())
		}
		statuses <- now
	}}
	return true, run(l, controls, requestOf)
}

func requestOf(c svc.ChangeRequest) request {
	switch c.Cmd {
	case svc.Stop:
		return stop
	case svc.Shutdown, svc.PreShutdown:
		return shutdown
	}
	return interrogate
}
