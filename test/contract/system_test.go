// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	system "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// startWith starts a node that has the given services besides the default ones.
func startWith(t *testing.T, services ...emulated.ServiceSpec) *testnode.Node {
	t.Helper()
	s := emulated.DefaultScenario()
	s.Services = append(s.Services, services...)
	return testnode.Start(t, testnode.Options{Emulated: emulated.Options{Scenario: &s}})
}

func getService(t *testing.T, n *testnode.Node, name string) *system.GetServiceResponse {
	t.Helper()
	reply, err := n.System.GetService(t.Context(), &system.GetServiceRequest{Name: name})
	noError(t, err)
	return reply
}

func wantStatus(t *testing.T, n *testnode.Node, want system.ServiceStatus, names ...string) {
	t.Helper()
	for _, name := range names {
		if got := getService(t, n, name).GetStatus(); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func startService(ctx context.Context, n *testnode.Node, name string) error {
	_, err := n.System.StartService(ctx, &system.StartServiceRequest{Name: name})
	return err
}

func stopService(ctx context.Context, n *testnode.Node, name string, force bool) error {
	_, err := n.System.StopService(ctx, &system.StopServiceRequest{Name: name, Force: force})
	return err
}

// wantReason checks the code, the reason and words of the message.
func wantReason(t *testing.T, err error, code codes.Code, reason string, words ...string) {
	t.Helper()
	wantCode(t, err, code)
	got := ""
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			got = info.GetReason()
		}
	}
	if got != reason {
		t.Errorf("reason %q, want %q (%v)", got, reason, err)
	}
	for _, word := range words {
		if !strings.Contains(status.Convert(err).Message(), word) {
			t.Errorf("message %q lacks %q", status.Convert(err).Message(), word)
		}
	}
}

// kernelCalls returns the names of the given functions that were called in the kernel since the last time.
func kernelCalls(n *testnode.Node, functions ...string) (calls []string) {
	for _, c := range n.Faults.Calls() {
		if slices.Contains(functions, c.Function) {
			calls = append(calls, c.Function+" "+c.Object)
		}
	}
	return calls
}

func TestBIOSSerialNumber(t *testing.T) {
	get := func(n *testnode.Node) (string, error) {
		reply, err := n.System.GetBIOSSerialNumber(t.Context(), &system.GetBIOSSerialNumberRequest{})
		return reply.GetSerialNumber(), err
	}
	n := testnode.Start(t, testnode.Options{})
	if got, err := get(n); err != nil || got != "EMU-0000-0001" {
		t.Errorf("got %q, %v", got, err)
	}
	n.Faults.Add(testnode.Fault{Function: "SystemFirmwareTable", Times: 1, Error: win32.ERROR_INVALID_FUNCTION})
	_, err := get(n)
	wantCode(t, err, codes.Unimplemented)

	// vSphere makes the machine's UUID of it: blanks inside stay.
	for serial, want := range map[string]string{
		"VMware-42 29 3f 5e 5f 4d 6a 0b-12 34 56 78 9a bc de f0": "VMware-42 29 3f 5e 5f 4d 6a 0b-12 34 56 78 9a bc de f0",
		" x  y ": " x  y",
	} {
		s := emulated.DefaultScenario()
		s.SystemSerial = serial
		if got, err := get(testnode.Start(t, testnode.Options{Emulated: emulated.Options{Scenario: &s}})); err != nil ||
			got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	none := emulated.DefaultScenario()
	none.SystemSerial = ""
	_, err = get(testnode.Start(t, testnode.Options{Emulated: emulated.Options{Scenario: &none}}))
	wantReason(t, err, codes.NotFound, "NO_SERIAL_NUMBER")
}

func TestGetService(t *testing.T) {
	n := startWith(t,
		emulated.ServiceSpec{Name: "named", DisplayName: "A Service for Everyone", StartType: win32.SERVICE_DISABLED},
		emulated.ServiceSpec{Name: "driver", StartType: win32.SERVICE_BOOT_START, Running: true})
	for name, want := range map[string]*system.GetServiceResponse{
		"LanmanWorkstation": {DisplayName: "LanmanWorkstation", StartType: system.StartType_AUTOMATIC,
			Status: system.ServiceStatus_RUNNING},
		"msISCSI": {DisplayName: "MSiSCSI", StartType: system.StartType_AUTOMATIC,
			Status: system.ServiceStatus_RUNNING},
		"Spooler": {DisplayName: "Spooler", StartType: system.StartType_MANUAL,
			Status: system.ServiceStatus_STOPPED},
		"named": {DisplayName: "A Service for Everyone", StartType: system.StartType_DISABLED,
			Status: system.ServiceStatus_STOPPED},
		"driver": {DisplayName: "driver", StartType: system.StartType_BOOT, Status: system.ServiceStatus_RUNNING},
	} {
		if got := getService(t, n, name); got.String() != want.String() {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	_, err := n.System.GetService(t.Context(), &system.GetServiceRequest{Name: "A Service for Everyone"})
	wantReason(t, err, codes.NotFound, "SERVICE_NOT_FOUND", "A Service for Everyone")
	n.Faults.Add(testnode.Fault{Function: "QueryService", Times: 1, Error: win32.ERROR_ACCESS_DENIED})
	_, err = n.System.GetService(t.Context(), &system.GetServiceRequest{Name: "Spooler"})
	wantCode(t, err, codes.PermissionDenied)
}

// The calls return when the service has arrived at its state, not when Windows has accepted the request.
func TestStartAndStopWaitForTheService(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	for range 2 {
		for range 2 { // again: success, and Windows is not asked for anything
			noError(t, startService(t.Context(), n, "SPOOLER"))
			wantStatus(t, n, system.ServiceStatus_RUNNING, "Spooler")
		}
		for range 2 {
			noError(t, stopService(t.Context(), n, "Spooler", false))
			wantStatus(t, n, system.ServiceStatus_STOPPED, "Spooler")
		}
	}
	want := []string{"StartService SPOOLER", "StopService Spooler", "StartService SPOOLER", "StopService Spooler"}
	if got := kernelCalls(n, "StartService", "StopService"); !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
}

// A start whose agent died is waited for by the next caller.
func TestServicesSurviveTheAgentsDeath(t *testing.T) {
	n := startWith(t, emulated.ServiceSpec{Name: "slow", StartType: win32.SERVICE_DEMAND_START, PendingQueries: 5})
	noError(t, n.Emulated.StartService("slow"))
	noError(t, n.Emulated.StopService("W32Time"))
	noError(t, n.Agent.Stop(t.Context()))
	again := testnode.Start(t, testnode.Options{StateDir: n.StateDir})
	wantStatus(t, again, system.ServiceStatus_START_PENDING, "slow")
	wantStatus(t, again, system.ServiceStatus_STOP_PENDING, "W32Time")
	noError(t, startService(t.Context(), again, "W32Time")) // stops first, then starts
	noError(t, startService(t.Context(), again, "slow"))
	wantStatus(t, again, system.ServiceStatus_RUNNING, "slow", "W32Time")
	noError(t, startService(t.Context(), again, "Spooler"))
	again.Reboot()
	wantStatus(t, again, system.ServiceStatus_RUNNING, "W32Time")
	wantStatus(t, again, system.ServiceStatus_STOPPED, "slow", "Spooler")
}

func TestStoppingWithDependents(t *testing.T) {
	n := startWith(t,
		emulated.ServiceSpec{Name: "deep", StartType: win32.SERVICE_AUTO_START, Dependencies: []string{"csi-dependent"},
			Running: true, PendingQueries: 2},
		emulated.ServiceSpec{Name: "idle", StartType: win32.SERVICE_DEMAND_START, Dependencies: []string{"MSiSCSI"}})
	all := []string{"MSiSCSI", "csi-dependent", "deep"}
	err := stopService(t.Context(), n, "msiscsi", false)
	wantReason(t, err, codes.FailedPrecondition, "DEPENDENT_SERVICES_RUNNING", "deep, csi-dependent", "force")
	wantStatus(t, n, system.ServiceStatus_RUNNING, all...)
	if got := kernelCalls(n, "StopService"); len(got) != 0 {
		t.Errorf("calls %q, want none", got)
	}

	noError(t, stopService(t.Context(), n, "msiscsi", true))
	wantStatus(t, n, system.ServiceStatus_STOPPED, all...)
	if got, want := kernelCalls(n, "StopService"), []string{"StopService deep", "StopService csi-dependent",
		"StopService msiscsi"}; !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
	noError(t, stopService(t.Context(), n, "msiscsi", true))

	// In the other direction, Windows starts the dependencies.
	noError(t, startService(t.Context(), n, "csi-dependent"))
	wantStatus(t, n, system.ServiceStatus_RUNNING, "MSiSCSI", "csi-dependent")
	wantStatus(t, n, system.ServiceStatus_STOPPED, "deep", "idle")
}

// A dependent that starts between the look and the stop is found at the next look.
func TestDependentThatComesUpMeanwhile(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	noError(t, stopService(t.Context(), n, "csi-dependent", false))
	reached, release := n.Faults.Hang("StopService")
	result := make(chan error, 1)
	go func() { result <- stopService(t.Context(), n, "MSiSCSI", true) }()
	<-reached
	noError(t, n.Emulated.StartService("csi-dependent"))
	release()
	noError(t, <-result)
	wantStatus(t, n, system.ServiceStatus_STOPPED, "MSiSCSI", "csi-dependent")
}

func TestServicesThatCannotBeControlled(t *testing.T) {
	failed := func(code win32.Errno) uint32 { return uint32(code) }
	n := startWith(t,
		emulated.ServiceSpec{Name: "disabled", StartType: win32.SERVICE_DISABLED},
		emulated.ServiceSpec{Name: "above-disabled", Dependencies: []string{"disabled"}},
		emulated.ServiceSpec{Name: "kept", Running: true, Unstoppable: true},
		emulated.ServiceSpec{Name: "above-kept", Running: true, Unstoppable: true, Dependencies: []string{"W32Time"}},
		emulated.ServiceSpec{Name: "crashes", PendingQueries: 2, StartExitCode: failed(win32.ERROR_PROCESS_ABORTED)},
		emulated.ServiceSpec{Name: "own-code", StartExitCode: failed(win32.ERROR_SERVICE_SPECIFIC_ERROR),
			StartServiceExitCode: 4242},
		emulated.ServiceSpec{Name: "no-logon", StartExitCode: failed(win32.ERROR_SERVICE_LOGON_FAILED)},
		emulated.ServiceSpec{Name: "above-crashes", PendingQueries: 1, Dependencies: []string{"crashes"}},
	)
	for name, c := range map[string]struct {
		err    error
		code   codes.Code
		reason string
		words  string
	}{
		"disabled": {startService(t.Context(), n, "disabled"), codes.FailedPrecondition,
			"SERVICE_DISABLED", "disabled"},
		"dependency disabled": {startService(t.Context(), n, "above-disabled"), codes.FailedPrecondition,
			"SERVICE_DEPENDENCY_FAIL", ""},
		"crashes":       {startService(t.Context(), n, "crashes"), codes.Internal, "SERVICE_FAILED", "exit code 1067"},
		"own exit code": {startService(t.Context(), n, "own-code"), codes.Internal, "SERVICE_FAILED", "exit code 4242"},
		"account": {startService(t.Context(), n, "no-logon"), codes.FailedPrecondition,
			"SERVICE_FAILED", "exit code 1069"},
		"dependency crashes": {startService(t.Context(), n, "above-crashes"), codes.FailedPrecondition,
			"SERVICE_FAILED", "exit code 1068"},
		"unstoppable": {stopService(t.Context(), n, "kept", true), codes.FailedPrecondition,
			"INVALID_SERVICE_CONTROL", "kept"},
		"dependent is": {stopService(t.Context(), n, "w32time", true), codes.FailedPrecondition,
			"INVALID_SERVICE_CONTROL", "w32time must wait: stopping service above-kept"},
		"unknown, start": {startService(t.Context(), n, "nobody"), codes.NotFound, "SERVICE_NOT_FOUND", "nobody"},
		"unknown, stop":  {stopService(t.Context(), n, "nobody", true), codes.NotFound, "SERVICE_NOT_FOUND", "nobody"},
	} {
		t.Run(name, func(t *testing.T) { wantReason(t, c.err, c.code, c.reason, c.words) })
	}
	for code, want := range map[win32.Errno]codes.Code{
		win32.ERROR_ACCESS_DENIED:             codes.PermissionDenied,
		win32.ERROR_SERVICE_MARKED_FOR_DELETE: codes.FailedPrecondition,
		win32.ERROR_SERVICE_REQUEST_TIMEOUT:   codes.DeadlineExceeded,
		win32.ERROR_SERVICE_DATABASE_LOCKED:   codes.Unavailable,
	} {
		n.Faults.Add(testnode.Fault{Function: "StartService", Times: 1, Error: code})
		wantCode(t, startService(t.Context(), n, "Spooler"), want)
		n.Faults.Add(testnode.Fault{Function: "StopService", Times: 1, Error: code})
		wantCode(t, stopService(t.Context(), n, "csi-dependent", false), want)
	}
	// A call failed after it took effect: the next one finds the service in its state.
	n.Faults.Release()
	n.Faults.Add(testnode.Fault{Function: "StartService", Times: 1,
		Error: win32.ERROR_SERVICE_REQUEST_TIMEOUT, After: true})
	wantCode(t, startService(t.Context(), n, "Spooler"), codes.DeadlineExceeded)
	noError(t, startService(t.Context(), n, "Spooler"))
}

func TestAgentDoesNotStopItself(t *testing.T) {
	n := startWith(t,
		emulated.ServiceSpec{Name: "csiproxy", StartType: win32.SERVICE_AUTO_START, Running: true,
			Dependencies: []string{"W32Time"}},
		emulated.ServiceSpec{Name: "top", StartType: win32.SERVICE_AUTO_START, Running: true,
			Dependencies: []string{"csiproxy"}})
	for _, name := range []string{"csiproxy", "CSIProxy", "C\u017fiproxy", " csiproxy", "W32Time"} {
		for _, force := range []bool{false, true} {
			wantReason(t, stopService(t.Context(), n, name, force), codes.FailedPrecondition, "OWN_SERVICE",
				"does not stop itself")
		}
	}
	if got := kernelCalls(n, "StopService"); len(got) != 0 {
		t.Errorf("calls %q, want none", got)
	}
	wantStatus(t, n, system.ServiceStatus_RUNNING, "csiproxy", "W32Time", "top")
	noError(t, startService(t.Context(), n, "csiproxy"))
	noError(t, stopService(t.Context(), n, "top", false))
}

func TestHostileServiceNames(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	for what, name := range map[string]string{
		"empty": "", "backslash": `..\MSiSCSI`, "slash": "a/b", "NUL": "MSiSCSI\x00",
		"line feed": "a\nb", "escape": "\x1b[2J",
		"C1": "a\u0085b", "line separator": "a\u2028b", "too long": strings.Repeat("x", 257),
		"too long in UTF-16": strings.Repeat("\U0001F4BE", 129),
	} {
		_, err := n.System.GetService(t.Context(), &system.GetServiceRequest{Name: name})
		for verb, err := range map[string]error{"get": err, "start": startService(t.Context(), n, name),
			"stop": stopService(t.Context(), n, name, true)} {
			t.Run(fmt.Sprintf("%s, %s", what, verb),
				func(t *testing.T) { wantReason(t, err, codes.InvalidArgument, "INVALID_SERVICE_NAME") })
		}
	}
	if calls := n.Faults.Calls(); slices.ContainsFunc(calls,
		func(c kernel.Call) bool { return strings.Contains(c.Function, "Service") }) {
		t.Errorf("Windows was asked: %v", calls)
	}
	for _, name := range []string{strings.Repeat("x", 256), strings.Repeat("\U0001F4BE", 64), "*", "%s",
		"$(x)", "'; x", "MSiSCSI "} {
		wantReason(t, startService(t.Context(), n, name), codes.NotFound, "SERVICE_NOT_FOUND")
	}
}

// A service that stays pending costs its caller the deadline, and delays no other call.
func TestServiceThatNeverArrives(t *testing.T) {
	n := startWith(t,
		emulated.ServiceSpec{Name: "never", PendingQueries: 1000},
		emulated.ServiceSpec{Name: "never-stops", Running: true, PendingQueries: 1000, Dependencies: []string{"W32Time"}})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	results := make(chan error, 3)
	go func() { results <- startService(ctx, n, "never") }()
	go func() { results <- startService(ctx, n, "NEVER") }()
	go func() { results <- stopService(ctx, n, "W32Time", true) }()
	noError(t, startService(t.Context(), n, "Spooler"))
	for range 3 {
		wantCode(t, <-results, codes.DeadlineExceeded)
	}
	wantStatus(t, n, system.ServiceStatus_START_PENDING, "never")
	wantStatus(t, n, system.ServiceStatus_RUNNING, "W32Time")
	// The waits are over and the service's lock is free: the next caller, too, waits no longer than it wants to.
	short, cancelShort := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancelShort()
	wantCode(t, startService(short, n, "never"), codes.DeadlineExceeded)
}
