// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"slices"
	"testing"

	"google.golang.org/grpc/codes"

	system "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// startWith starts a node that has the given services besides the default ones.
func startWith(t *testing.T, services ...services.Spec) *caller.Node {
	t.Helper()
	return caller.Scenario(t, func(s *scenario.Scenario) { s.Services = append(s.Services, services...) })
}

func wantStatus(t *testing.T, n *caller.Node, want system.ServiceStatus, names ...string) {
	t.Helper()
	for _, name := range names {
		if got, err := n.GetService(name); err != nil || got.GetStatus() != want {
			t.Errorf("%s is %v, %v, want %v", name, got, err, want)
		}
	}
}

func TestBIOSSerialNumber(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	n.Once("SystemFirmwareTable", win32.ERROR_INVALID_FUNCTION)
	_, err := n.GetBIOSSerialNumber()
	n.Code(err, codes.Unimplemented)
	// vSphere makes the machine's UUID of it: blanks inside stay.
	n = caller.Scenario(t, func(s *scenario.Scenario) { s.SystemSerial = " x  y " })
	if got, err := n.GetBIOSSerialNumber(); err != nil || got != " x  y" {
		t.Errorf("got %q, %v", got, err)
	}
	_, err = caller.Scenario(t, func(s *scenario.Scenario) { s.SystemSerial = "" }).GetBIOSSerialNumber()
	n.Refused(err, codes.NotFound, "NO_SERIAL_NUMBER")
}

func TestGetService(t *testing.T) {
	n := startWith(t,
		services.Spec{Name: "named", DisplayName: "A Service for Everyone", StartType: services.Disabled},
		services.Spec{Name: "driver", StartType: services.StartType(win32.SERVICE_BOOT_START), Running: true})
	const running, stopped = system.ServiceStatus_RUNNING, system.ServiceStatus_STOPPED
	for name, want := range map[string]*system.GetServiceResponse{
		"msISCSI": {DisplayName: "MSiSCSI", StartType: system.StartType_AUTOMATIC, Status: running},
		"Spooler": {DisplayName: "Spooler", StartType: system.StartType_MANUAL, Status: stopped},
		"named":   {DisplayName: "A Service for Everyone", StartType: system.StartType_DISABLED, Status: stopped},
		"driver":  {DisplayName: "driver", StartType: system.StartType_BOOT, Status: running},
	} {
		if got, err := n.GetService(name); err != nil || got.String() != want.String() {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, want)
		}
	}
	_, err := n.GetService("A Service for Everyone")
	n.Refused(err, codes.NotFound, "SERVICE_NOT_FOUND", "A Service for Everyone")
	n.Once("QueryService", win32.ERROR_ACCESS_DENIED)
	_, err = n.GetService("Spooler")
	n.Code(err, codes.PermissionDenied)
}

// A start whose agent died is waited for by the next caller.
func TestServicesSurviveTheAgentsDeath(t *testing.T) {
	n := startWith(t, services.Spec{Name: "slow", StartType: services.StartType(win32.SERVICE_DEMAND_START), PendingQueries: 5})
	n.OK(n.Emulated.StartService("slow"))
	n.OK(n.Emulated.StopService("W32Time"))
	n.OK(n.Agent.Stop(t.Context()))
	again := caller.Start(t, testnode.Options{StateDir: n.StateDir})
	wantStatus(t, again, system.ServiceStatus_START_PENDING, "slow")
	wantStatus(t, again, system.ServiceStatus_STOP_PENDING, "W32Time")
	n.OK(again.StartService("W32Time")) // stops first, then starts
	n.OK(again.StartService("slow"))
	wantStatus(t, again, system.ServiceStatus_RUNNING, "slow", "W32Time")
	n.OK(again.StartService("Spooler"))
	again.Reboot()
	wantStatus(t, again, system.ServiceStatus_RUNNING, "W32Time")
	wantStatus(t, again, system.ServiceStatus_STOPPED, "slow", "Spooler")
}

func TestStoppingWithDependents(t *testing.T) {
	n := startWith(t,
		services.Spec{Name: "deep", StartType: services.Automatic, Dependencies: []string{"csi-dependent"},
			Running: true, PendingQueries: 2},
		services.Spec{Name: "idle", StartType: services.StartType(win32.SERVICE_DEMAND_START), Dependencies: []string{"MSiSCSI"}})
	all := []string{"MSiSCSI", "csi-dependent", "deep"}
	n.Refused(n.StopService("msiscsi", false), codes.FailedPrecondition, "DEPENDENT_SERVICES_RUNNING",
		"deep, csi-dependent", "force")
	wantStatus(t, n, system.ServiceStatus_RUNNING, all...)
	if got := n.Called("StopService"); len(got) != 0 {
		t.Errorf("calls %q, want none", got)
	}

	n.OK(n.StopService("msiscsi", true))
	wantStatus(t, n, system.ServiceStatus_STOPPED, all...)
	if got, want := n.Called("StopService"), []string{"StopService deep", "StopService csi-dependent",
		"StopService msiscsi"}; !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
	n.OK(n.StopService("msiscsi", true))

	// In the other direction, Windows starts the dependencies.
	n.OK(n.StartService("csi-dependent"))
	wantStatus(t, n, system.ServiceStatus_RUNNING, "MSiSCSI", "csi-dependent")
	wantStatus(t, n, system.ServiceStatus_STOPPED, "deep", "idle")
}

// A dependent that starts between the look and the stop is found at the next look.
func TestDependentThatComesUpMeanwhile(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	n.OK(n.StopService("csi-dependent", false))
	reached, release := n.Faults.Hang("StopService")
	result := make(chan error, 1)
	go func() { result <- n.StopService("MSiSCSI", true) }()
	<-reached
	n.OK(n.Emulated.StartService("csi-dependent"))
	release()
	n.OK(<-result)
	wantStatus(t, n, system.ServiceStatus_STOPPED, "MSiSCSI", "csi-dependent")
}

func TestServicesThatCannotBeControlled(t *testing.T) {
	failed := func(code win32.Errno) uint32 { return uint32(code) }
	n := startWith(t,
		services.Spec{Name: "disabled", StartType: services.Disabled},
		services.Spec{Name: "above-disabled", Dependencies: []string{"disabled"}},
		services.Spec{Name: "kept", Running: true, Unstoppable: true},
		services.Spec{Name: "above-kept", Running: true, Unstoppable: true, Dependencies: []string{"W32Time"}},
		services.Spec{Name: "crashes", PendingQueries: 2, StartExitCode: failed(win32.ERROR_PROCESS_ABORTED)},
		services.Spec{Name: "own-code", StartExitCode: failed(win32.ERROR_SERVICE_SPECIFIC_ERROR),
			StartServiceExitCode: 4242},
		services.Spec{Name: "no-logon", StartExitCode: failed(win32.ERROR_SERVICE_LOGON_FAILED)},
		services.Spec{Name: "above-crashes", PendingQueries: 1, Dependencies: []string{"crashes"}},
	)
	for name, c := range map[string]struct {
		err    error
		code   codes.Code
		reason string
		words  string
	}{
		"disabled": {n.StartService("disabled"), codes.FailedPrecondition,
			"SERVICE_DISABLED", "disabled"},
		"dependency disabled": {n.StartService("above-disabled"), codes.FailedPrecondition,
			"SERVICE_DEPENDENCY_FAIL", ""},
		"crashes":       {n.StartService("crashes"), codes.Internal, "SERVICE_FAILED", "exit code 1067"},
		"own exit code": {n.StartService("own-code"), codes.Internal, "SERVICE_FAILED", "exit code 4242"},
		"account": {n.StartService("no-logon"), codes.FailedPrecondition,
			"SERVICE_FAILED", "exit code 1069"},
		"dependency crashes": {n.StartService("above-crashes"), codes.FailedPrecondition,
			"SERVICE_FAILED", "exit code 1068"},
		"unstoppable": {n.StopService("kept", true), codes.FailedPrecondition,
			"INVALID_SERVICE_CONTROL", "kept"},
		"dependent is": {n.StopService("w32time", true), codes.FailedPrecondition,
			"INVALID_SERVICE_CONTROL", "w32time must wait: stopping service above-kept"},
		"unknown, start": {n.StartService("nobody"), codes.NotFound, "SERVICE_NOT_FOUND", "nobody"},
		"unknown, stop":  {n.StopService("nobody", true), codes.NotFound, "SERVICE_NOT_FOUND", "nobody"},
	} {
		t.Run(name, func(*testing.T) { n.Refused(c.err, c.code, c.reason, c.words) })
	}
	for code, want := range map[win32.Errno]codes.Code{
		win32.ERROR_ACCESS_DENIED:             codes.PermissionDenied,
		win32.ERROR_SERVICE_MARKED_FOR_DELETE: codes.FailedPrecondition,
		win32.ERROR_SERVICE_REQUEST_TIMEOUT:   codes.DeadlineExceeded,
		win32.ERROR_SERVICE_DATABASE_LOCKED:   codes.Unavailable,
	} {
		n.Faults.Add(testnode.Fault{Function: "StartService", Times: 1, Error: code})
		n.Code(n.StartService("Spooler"), want)
		n.Faults.Add(testnode.Fault{Function: "StopService", Times: 1, Error: code})
		n.Code(n.StopService("csi-dependent", false), want)
	}
	// A call failed after it took effect: the next one finds the service in its state.
	n.Faults.Release()
	n.Faults.Add(testnode.Fault{Function: "StartService", Times: 1,
		Error: win32.ERROR_SERVICE_REQUEST_TIMEOUT, After: true})
	n.Code(n.StartService("Spooler"), codes.DeadlineExceeded)
	n.OK(n.StartService("Spooler"))
}

func TestAgentDoesNotStopItself(t *testing.T) {
	n := startWith(t,
		services.Spec{Name: "csiproxy", StartType: services.Automatic, Running: true,
			Dependencies: []string{"W32Time"}},
		services.Spec{Name: "top", StartType: services.Automatic, Running: true,
			Dependencies: []string{"csiproxy"}})
	for _, name := range []string{"csiproxy", "CSIProxy", "C\u017fiproxy", " csiproxy", "W32Time"} {
		for _, force := range []bool{false, true} {
			n.Refused(n.StopService(name, force), codes.FailedPrecondition, "OWN_SERVICE", "does not stop itself")
		}
	}
	if got := n.Called("StopService"); len(got) != 0 {
		t.Errorf("calls %q, want none", got)
	}
	wantStatus(t, n, system.ServiceStatus_RUNNING, "csiproxy", "W32Time", "top")
	n.OK(n.StartService("csiproxy"))
	n.OK(n.StopService("top", false))
}
