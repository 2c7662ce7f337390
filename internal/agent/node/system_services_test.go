// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/calls"
)

// scriptedServices answers queries from a list and repeats the last answer. Otherwise it does as it is told.
type scriptedServices struct {
	kernel.Kernel
	answers  []kernel.Service
	control  error // of StartService and StopService
	firmware []byte
	called   []string
	queries  int
}

func (k *scriptedServices) QueryService(string) (kernel.Service, error) {
	k.queries++
	s := k.answers[0]
	if len(k.answers) > 1 {
		k.answers = k.answers[1:]
	}
	return s, nil
}

func (k *scriptedServices) StartService(string) error {
	k.called = append(k.called, "start")
	return k.control
}

func (k *scriptedServices) StopService(string) error {
	k.called = append(k.called, "stop")
	return k.control
}

func (k *scriptedServices) DependentServices(string) ([]string, error) { return nil, nil }

func (k *scriptedServices) SystemFirmwareTable(uint32, uint32) ([]byte, error) {
	return k.firmware, nil
}

func (k *scriptedServices) system(t *testing.T) *calls.Calls {
	t.Helper()
	return by(context.Background(), bare(t, k))
}

func TestTheAgentsServiceMayHaveAnyName(t *testing.T) {
	n := newNode(t, &scriptedServices{answers: inState(win32.SERVICE_STOPPED)},
		Config{OwnService: func() string { return "storage" },
			ProtectedServices: []string{"none"}})
	if err := by(t.Context(), n).StopService("Storage", true); !errdefs.HasReason(err, reason.OwnService) {
		t.Errorf("got %v, want the reason %s", err, reason.OwnService)
	}
	if err := by(t.Context(), n).StopService("csiproxy", true); err != nil {
		t.Errorf("another service: %v", err)
	}
}

// inStates are the states of a service, one after the other.
type inStates = []win32.ServiceState

func inState(states ...win32.ServiceState) (answers []kernel.Service) {
	for _, s := range states {
		answers = append(answers, kernel.Service{State: s, WaitHint: 60000})
	}
	return answers
}

func wantError(t *testing.T, err error, class errdefs.Class, reason string) {
	t.Helper()
	var e *errdefs.Error
	if !errors.As(err, &e) || e.Class != class || e.Reason != reason {
		t.Errorf("got %v (%+v), want class %v, reason %s", err, e, class, reason)
	}
}

// Without a deadline of the caller, a wait ends after 30 seconds, also for callers that queue behind another, and the
// service is not queried all the time.
func TestServiceWaitEnds(t *testing.T) {
	for name, call := range map[string]func(*calls.Calls) error{
		"start": func(s *calls.Calls) error { return s.StartService("slow") },
		"stop":  func(s *calls.Calls) error { return s.StopService("slow", true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := &scriptedServices{answers: inState(win32.SERVICE_START_PENDING),
					control: win32.ERROR_SERVICE_CANNOT_ACCEPT_CTRL}
				system, begin := k.system(t), time.Now()
				results := make(chan error, 2)
				for range cap(results) {
					go func() { results <- call(system) }()
				}
				for range cap(results) {
					err := <-results
					wantError(t, err, errdefs.DeadlineExceeded, reason.ServicePending)
					if !strings.Contains(err.Error(), "it is starting") {
						t.Errorf("message %q does not give the service's state", err)
					}
				}
				if took := time.Since(begin); took != serviceTime {
					t.Errorf("took %v, want %v", took, serviceTime)
				}
				if k.queries < 10 || k.queries > 40 {
					t.Errorf("%d queries", k.queries)
				}
			})
		})
	}
}

// A wait ends when its caller leaves, and does not keep the service from others.
func TestServiceWaitEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &scriptedServices{answers: inState(win32.SERVICE_STOPPED, win32.SERVICE_START_PENDING)}
		n := bare(t, k)
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error)
		go func() { result <- by(ctx, n).StartService("slow") }()
		synctest.Wait()
		cancel()
		wantError(t, <-result, errdefs.Canceled, reason.StillRunning)
		if err := n.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		k.answers = inState(win32.SERVICE_RUNNING)
		if err := by(t.Context(), n).StartService("slow"); err != nil {
			t.Error(err)
		}
	})
}

func TestServiceStates(t *testing.T) {
	const (
		stopped, starting, stopping = win32.SERVICE_STOPPED, win32.SERVICE_START_PENDING, win32.SERVICE_STOP_PENDING
		running, pausing, paused    = win32.SERVICE_RUNNING, win32.SERVICE_PAUSE_PENDING, win32.SERVICE_PAUSED
	)
	start := func(s *calls.Calls) error { return s.StartService("s") }
	stop := func(s *calls.Calls) error { return s.StopService("s", false) }
	for name, c := range map[string]struct {
		call    func(*calls.Calls) error
		states  inStates
		control error
		called  []string
		reason  string
	}{
		"starts":                  {start, inStates{stopped, starting, running}, nil, []string{"start"}, ""},
		"starts what is stopping": {start, inStates{stopping, stopped, starting, running}, nil, []string{"start"}, ""},
		"another's start fails":   {start, inStates{starting, stopped, running}, nil, []string{"start"}, ""},
		"continues":               {start, inStates{win32.SERVICE_CONTINUE_PENDING, running}, nil, nil, ""},
		"another starts it": {start, inStates{stopped, running}, win32.ERROR_SERVICE_ALREADY_RUNNING,
			[]string{"start"}, ""},
		"stops again": {start, inStates{stopped, starting, stopped}, nil,
			[]string{"start"}, reason.ServiceFailed},
		"is paused":                    {start, inStates{pausing, paused}, nil, nil, reason.ServicePaused},
		"stops":                        {stop, inStates{running, stopping, stopped}, nil, []string{"stop"}, ""},
		"stops what is paused":         {stop, inStates{paused, stopping, stopped}, nil, []string{"stop"}, ""},
		"is slow to say that it stops": {stop, inStates{running, running, running, stopped}, nil, []string{"stop"}, ""},
		"another stops it": {stop, inStates{running, stopped},
			win32.ERROR_SERVICE_NOT_ACTIVE, []string{"stop"}, ""},
		"stops by itself": {stop, inStates{stopping, stopping, stopped}, nil, nil, ""},
		"cannot be stopped as it is": {stop, inStates{starting, stopped},
			win32.ERROR_SERVICE_CANNOT_ACCEPT_CTRL, []string{"stop"}, ""},
		"does not take a stop": {stop, inStates{running}, win32.ERROR_INVALID_SERVICE_CONTROL, []string{"stop"},
			"INVALID_SERVICE_CONTROL"},
		"a dependent that nobody lists": {stop, inStates{running}, win32.ERROR_DEPENDENT_SERVICES_RUNNING, nil,
			reason.ServicePending},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := &scriptedServices{answers: inState(c.states...), control: c.control}
				err := c.call(k.system(t))
				reason := ""
				if e := (*errdefs.Error)(nil); errors.As(err, &e) {
					reason = e.Reason
				}
				if reason != c.reason {
					t.Errorf("got %v, want reason %q", err, c.reason)
				}
				if c.called != nil && !slices.Equal(k.called, c.called) {
					t.Errorf("calls %q, want %q", k.called, c.called)
				}
			})
		})
	}
}

func TestDamagedFirmware(t *testing.T) {
	good := deviceside.SMBIOS(win32.SMBIOS{{Type: 1, Data: []byte{0, 0, 0, 1},
		Strings: []string{"S1"}}})
	for name, c := range map[string]struct {
		table  []byte
		serial string
		class  errdefs.Class
		reason string
	}{
		"whole": {good, "S1", 0, ""},
		"damaged behind": {append(append([]byte{0, 3, 0, 0, byte(len(good) - 8 - 6 + 3), 0, 0, 0}, good[8:len(good)-6]...),
			2, 3, 0), "S1", 0, ""},
		"damaged at once": {append([]byte{0, 3, 0, 0, 3, 0, 0, 0}, 1, 2, 0), "", errdefs.Internal, reason.FirmwareTableDamaged},
		"empty":           {nil, "", errdefs.Internal, reason.FirmwareTableDamaged},
		"no serial":       {deviceside.SMBIOS(win32.SMBIOS{}), "", errdefs.NotFound, reason.NoSerialNumber},
	} {
		t.Run(name, func(t *testing.T) {
			k := &scriptedServices{firmware: c.table}
			serial, err := k.system(t).GetBIOSSerialNumber()
			if serial != c.serial || (err != nil) != (c.reason != "") {
				t.Errorf("got %q, %v, want %q", serial, err, c.serial)
			}
			if err != nil {
				wantError(t, err, c.class, c.reason)
			}
		})
	}
}
