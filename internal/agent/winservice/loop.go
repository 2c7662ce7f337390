// SPDX-License-Identifier: Apache-2.0

package winservice

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// Service-specific exit codes: what sc.exe query shows as SERVICE_EXIT_CODE beside the Win32 exit code 1066.
const (
	exitStart = 1 // the service could not start
	exitServe = 2 // the service could not go on
)

// A starting or stopping service reports every tick that it is alive, and asks to wait hint for the next report.
const tick, hint = 2 * time.Second, 15 * time.Second

// A Task is the service's work until stop is over. It calls ready once, when it serves, with details for a person.
type Task func(stop context.Context, ready func(details string)) error

// A request is a request of the Service Control Manager: the end of the sentence that says why the service stops.
type request string

const (
	interrogate request = "" // only the state is asked for
	stop        request = ", as requested from the Service Control Manager."
	shutdown    request = " because Windows is shutting down." // or a pre-shutdown, which leaves more time
)

// A loop takes a service through its states.
type loop struct {
	task Task
	// report reports a state. Only a running service has no check point, and accepts requests to stop.
	report func(state win32.ServiceState, checkPoint uint32)
	events Events
}

// run runs the task until it ends, by itself or because of a request to stop, and returns the service-specific exit
// code. Zero means that it was told to stop; anything else is a failure, which triggers the recovery actions. All
// reports are made here, one after the other, so that none is overtaken by an older one.
func run[Control any](l loop, controls <-chan Control, meaning func(Control) request) (code uint32) {
	stopped, stopTask := context.WithCancel(context.Background())
	defer stopTask()
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	ready, ended := make(chan string, 1), make(chan error, 1)

	state, checkPoint := win32.SERVICE_START_PENDING, uint32(1)
	l.report(state, checkPoint)
	go func() { ended <- l.task(stopped, func(details string) { ready <- details }) }()
	for {
		select {
		case details := <-ready:
			if state != win32.SERVICE_START_PENDING {
				continue // told to stop as it became ready
			}
			state, checkPoint = win32.SERVICE_RUNNING, 0
			_ = l.events.Info(EventStarted, eventText("CSI Proxy is running. "+details))
		case c := <-controls:
			if why := meaning(c); why != interrogate && state != win32.SERVICE_STOP_PENDING {
				state, checkPoint = win32.SERVICE_STOP_PENDING, 1
				_ = l.events.Info(EventStopping, "CSI Proxy is stopping"+string(why))
				stopTask()
			}
		case <-ticks.C:
			if state == win32.SERVICE_RUNNING {
				continue
			}
			checkPoint++
		case err := <-ended:
			return l.end(state, err)
		}
		l.report(state, checkPoint)
	}
}

// end records how the service ended and returns its exit code.
func (l loop) end(was win32.ServiceState, err error) (code uint32) {
	switch {
	case was == win32.SERVICE_STOP_PENDING && err == nil:
		_ = l.events.Info(EventStopped, "CSI Proxy stopped.")
		return 0
	case was == win32.SERVICE_STOP_PENDING:
		// No exit code: with one, the recovery actions would restart a service that was stopped on purpose.
		_ = l.events.Warning(EventCutOff, eventText("CSI Proxy stopped, but not cleanly: "+err.Error()))
		return 0
	case err == nil:
		err = errors.New("it ended by itself")
	}
	if was == win32.SERVICE_START_PENDING {
		_ = l.events.Error(EventStartFailed, eventText("CSI Proxy could not start: "+err.Error()))
		return exitStart
	}
	_ = l.events.Error(EventFailed, eventText("CSI Proxy could not go on: "+err.Error()))
	return exitServe
}

// Ids of records in the Event Log, at most 1000: EventCreate.exe has templates for these. Alerts depend on them.
const (
	EventStarted     = 1  // every endpoint accepts calls
	EventStopping    = 2  // told to stop; running operations may end
	EventStopped     = 3  // stopped cleanly
	EventCutOff      = 4  // stopped, with operations still running
	EventStartFailed = 10 // the service could not start
	EventFailed      = 11 // the service could not go on
)

// Events is the Event Log. A record that fails is lost: a service runs without the log too.
type Events interface {
	Info(id uint32, text string) error
	Warning(id uint32, text string) error
	Error(id uint32, text string) error
}

// eventText returns a text fit for a record: without NULs, which would end it, and below Windows' 31,839 characters.
func eventText(text string) string {
	const longestEvent = 30000 // bytes
	text = strings.ReplaceAll(text, "\x00", "")
	if len(text) > longestEvent {
		text = text[:longestEvent] + "…"
	}
	return strings.ToValidUTF8(text, "")
}
