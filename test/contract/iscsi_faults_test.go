// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	iscsi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	system "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// everyISCSICall makes each call of the group with good arguments.
func everyISCSICall(t *testing.T, n *testnode.Node) map[string]error {
	t.Helper()
	errs := map[string]error{}
	_, errs["AddTargetPortal"] = n.ISCSI.AddTargetPortal(t.Context(),
		&iscsi.AddTargetPortalRequest{TargetPortal: arrayPortal()})
	_, errs["DiscoverTargetPortal"] = n.ISCSI.DiscoverTargetPortal(t.Context(),
		&iscsi.DiscoverTargetPortalRequest{TargetPortal: arrayPortal()})
	_, errs["RemoveTargetPortal"] = n.ISCSI.RemoveTargetPortal(t.Context(),
		&iscsi.RemoveTargetPortalRequest{TargetPortal: arrayPortal()})
	_, errs["ListTargetPortals"] = n.ISCSI.ListTargetPortals(t.Context(), &iscsi.ListTargetPortalsRequest{})
	errs["ConnectTarget"] = login(t, n, openTarget, 0, "", "")
	errs["DisconnectTarget"] = logout(t, n, openTarget)
	_, errs["GetTargetDisks"] = n.ISCSI.GetTargetDisks(t.Context(),
		&iscsi.GetTargetDisksRequest{TargetPortal: arrayPortal(), Iqn: openTarget})
	errs["SetMutualChapSecret"] = setMutual(t, n, mutualSecret)
	return errs
}

func TestISCSIServiceStopped(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	_, err := n.System.StopService(t.Context(), &system.StopServiceRequest{Name: "MSiSCSI", Force: true})
	noError(t, err)
	check := func(t *testing.T) {
		t.Helper()
		for call, err := range everyISCSICall(t, n) {
			if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "MSiSCSI") {
				t.Errorf("%s: %v", call, err)
			}
		}
	}
	check(t)
	// Windows may use another code for it.
	for _, code := range []win32.Errno{win32.RPC_S_SERVER_UNAVAILABLE, win32.EPT_S_NOT_REGISTERED,
		win32.ERROR_SERVICE_NOT_ACTIVE} {
		for _, function := range []string{"ReportISCSISendTargetPortals", "ISCSISessionList",
			"SetISCSIInitiatorCHAPSharedSecret"} {
			n.Faults.Add(testnode.Fault{Function: function, Error: code})
		}
		check(t)
		n.Faults.Release()
	}
	_, err = n.System.StartService(t.Context(), &system.StartServiceRequest{Name: "MSiSCSI"})
	noError(t, err)
	connected(t, n)
	n.Faults.Add(testnode.Fault{Function: "ISCSISessionList", Times: 1, Error: win32.RPC_S_SERVER_UNAVAILABLE})
	wantCode(t, logout(t, n, openTarget), codes.Unavailable) // it runs, and only failed to answer
}

func TestISCSIArguments(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	n.Faults.Calls() // forget the start
	at := func(address string, port uint32) *iscsi.TargetPortal {
		return &iscsi.TargetPortal{TargetAddress: address, TargetPort: port}
	}
	for name, p := range map[string]*iscsi.TargetPortal{
		"none": nil, "empty": {}, "port": at(arrayAddress, 65536), "large port": at(arrayAddress, 1<<31),
		"blank": at("array example", 0),
		"slash": at("array/example", 0), "backslash": at(`\\array`, 0), "NUL": at("array\x00", 0),
		"port in the address": at("array:3260", 0),
		"brackets":            at("[::1]", 0), "label": at("array..example", 0), "hyphen": at("-array", 0),
		"octets": at("192.0.2.300", 0),
		"octal":  at("0192.0.2.010", 0), "long": at(strings.Repeat("a.", 130)+"a", 0), "zone": at(`fe80::1%a\b`, 0),
		"beyond ASCII": at("ärray", 0),
	} {
		for call, err := range map[string]error{
			"AddTargetPortal": second(n.ISCSI.AddTargetPortal(t.Context(), &iscsi.AddTargetPortalRequest{TargetPortal: p})),
			"DiscoverTargetPortal": second(n.ISCSI.DiscoverTargetPortal(t.Context(),
				&iscsi.DiscoverTargetPortalRequest{TargetPortal: p})),
			"RemoveTargetPortal": second(n.ISCSI.RemoveTargetPortal(t.Context(),
				&iscsi.RemoveTargetPortalRequest{TargetPortal: p})),
			"ConnectTarget": second(
				n.ISCSI.ConnectTarget(t.Context(), &iscsi.ConnectTargetRequest{TargetPortal: p, Iqn: openTarget})),
			"DisconnectTarget": second(
				n.ISCSI.DisconnectTarget(t.Context(), &iscsi.DisconnectTargetRequest{TargetPortal: p, Iqn: openTarget})),
			"GetTargetDisks": second(
				n.ISCSI.GetTargetDisks(t.Context(), &iscsi.GetTargetDisksRequest{TargetPortal: p, Iqn: openTarget})),
		} {
			if status.Code(err) != codes.InvalidArgument {
				t.Errorf("%s, portal %s: %v", call, name, err)
			}
		}
	}
	for _, iqn := range []string{"", "open", "iqn.2026-13.emulated:open", "iqn.2026-01.emulated:a b",
		`iqn.2026-01.emulated:a\b`, "iqn.2026-01.emulated:\x00"} {
		for call, err := range map[string]error{
			"ConnectTarget":    login(t, n, iqn, 0, "", ""),
			"DisconnectTarget": logout(t, n, iqn),
			"GetTargetDisks": second(n.ISCSI.GetTargetDisks(t.Context(),
				&iscsi.GetTargetDisksRequest{TargetPortal: arrayPortal(), Iqn: iqn})),
		} {
			if status.Code(err) != codes.InvalidArgument {
				t.Errorf("%s, target %q: %v", call, iqn, err)
			}
		}
	}
	if calls := n.Faults.Calls(); len(calls) != 0 {
		t.Errorf("refused arguments reached the kernel: %v", calls)
	}
}

func second[T any](_ T, err error) error { return err }

func TestISCSIBusy(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	discovered(t, n)
	n.Faults.Add(testnode.Fault{Function: "LoginISCSITarget", Times: 2, Error: win32.ERROR_INSUFFICIENT_BUFFER})
	n.Faults.Add(testnode.Fault{Function: "LoginISCSITarget", Times: 2, Error: win32.ISDSC_SESSION_BUSY})
	busyDevices := func() {
		t.Helper()
		for _, code := range []win32.Errno{
			win32.ISDSC_SESSION_BUSY, win32.ISDSC_DEVICE_BUSY_ON_SESSION, win32.ERROR_INSUFFICIENT_BUFFER,
			win32.ISDSC_BUFFER_TOO_SMALL,
		} {
			n.Faults.Add(testnode.Fault{Function: "DevicesForISCSISession", Times: 2, Error: code})
		}
	}
	busyDevices()
	connected(t, n)
	busyDevices()
	for _, code := range []win32.Errno{win32.ISDSC_SESSION_BUSY, win32.ISDSC_DEVICE_BUSY_ON_SESSION} {
		n.Faults.Add(testnode.Fault{Function: "LogoutISCSITarget", Times: 2, Error: code})
	}
	noError(t, logout(t, n, openTarget))
	// A login or logout that took effect and failed all the same is completed by the next call.
	n.Faults.Add(testnode.Fault{Function: "LoginISCSITarget", Times: 1, Error: win32.ISDSC_TRANSPORT_ERROR, After: true})
	wantCode(t, login(t, n, openTarget, 0, "", ""), codes.Unavailable)
	noError(t, login(t, n, openTarget, 0, "", ""))
	n.Faults.Add(testnode.Fault{Function: "LogoutISCSITarget", Times: 1, Error: win32.ISDSC_TRANSPORT_ERROR, After: true})
	err := logout(t, n, openTarget)
	wantCode(t, err, codes.Unavailable)
	if info := errorInfo(err); info.GetReason() != "ISDSC_TRANSPORT_ERROR" || info.GetMetadata()["win32"] != "4026466340" {
		t.Errorf("details %v", info)
	}
	noError(t, logout(t, n, openTarget))
}

// TestISCSIPortalThatFails: a registration that failed leaves no portal, so that the next one fails as well and does
// not mistake what the first one left for success.
func TestISCSIPortalThatFails(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	add := func(address string) error {
		_, err := n.ISCSI.AddTargetPortal(t.Context(),
			&iscsi.AddTargetPortalRequest{TargetPortal: &iscsi.TargetPortal{TargetAddress: address}})
		return err
	}
	noPortals := func() {
		t.Helper()
		if got := portals(t, n); len(got) != 0 {
			t.Errorf("portals after a failure: %v", got)
		}
	}
	for range 2 {
		wantCode(t, add("192.0.2.11"), codes.Unavailable) // no answer there
		noPortals()
		n.Faults.Add(testnode.Fault{Function: "AddISCSISendTargetPortal", Times: 1,
			Error: win32.ISDSC_AUTHENTICATION_FAILURE, After: true})
		wantCode(t, add(arrayAddress), codes.Unauthenticated)
		noPortals()
	}
	// Where the portal cannot be removed, the caller gets the first error.
	for _, function := range []string{"RemoveISCSISendTargetPortal", "ReportISCSISendTargetPortals"} {
		n.Faults.Add(testnode.Fault{Function: "AddISCSISendTargetPortal", Times: 1,
			Error: win32.ISDSC_AUTHENTICATION_FAILURE, After: true})
		skip := 0
		if function == "ReportISCSISendTargetPortals" {
			skip = 1 // the list before the registration
		}
		n.Faults.Add(testnode.Fault{Function: function, Skip: skip, Times: 1, Error: win32.ISDSC_TARGET_ERROR})
		wantCode(t, add(arrayAddress), codes.Unauthenticated)
		_, err := n.ISCSI.RemoveTargetPortal(t.Context(), &iscsi.RemoveTargetPortalRequest{TargetPortal: arrayPortal()})
		noError(t, err)
		noPortals()
	}
	// A portal that was registered before is neither asked nor removed.
	discovered(t, n)
	noError(t, n.Emulated.SetISCSIPortal(arrayAddress, 3260, false))
	noError(t, add(arrayAddress))
	if diff := cmp.Diff(portals(t, n), []string{arrayAddress}); diff != "" {
		t.Errorf("portals (-got +want):\n%s", diff)
	}
}

// TestISCSITargetsTooSmall: Windows may report for a moment that the list of targets needs a buffer, of no size.
func TestISCSITargetsTooSmall(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	n.Faults.Add(testnode.Fault{Function: "ReportISCSITargets", Times: 4, Error: win32.ERROR_INSUFFICIENT_BUFFER})
	if diff := cmp.Diff(discovered(t, n), []string{chapTarget, mutualTarget, openTarget}); diff != "" {
		t.Errorf("targets (-got +want):\n%s", diff)
	}
}

// TestISCSIDriveLetter: a drive letter, which automount assigns and no call removes, is not a mount point.
func TestISCSIDriveLetter(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	connected(t, n)
	id := mounted(t, n, 3)
	noError(t, n.Emulated.SetVolumeMountPoint(`E:\`, id))
	err := logout(t, n, openTarget)
	wantCode(t, err, codes.FailedPrecondition)
	if !strings.Contains(err.Error(), staging) {
		t.Errorf("the error does not name the directory: %v", err)
	}
	_, err = n.Volume.UnmountVolume(t.Context(), &volume.UnmountVolumeRequest{VolumeId: id, TargetPath: staging})
	noError(t, err)
	n.Faults.Calls()
	noError(t, logout(t, n, openTarget))
	if !slices.ContainsFunc(n.Faults.Calls(), func(c kernel.Call) bool { return c.Function == "Flush" }) {
		t.Error("the volume was not flushed before the logout")
	}
}

// TestISCSIFlushFails: data that cannot be written out keeps the session.
func TestISCSIFlushFails(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	connected(t, n)
	formatted(t, n, 3)
	n.Faults.Add(testnode.Fault{Function: "Flush", Times: 1, Error: win32.ERROR_IO_DEVICE})
	wantCode(t, logout(t, n, openTarget), codes.Unavailable)
	if got := targetDisks(t, n, openTarget); len(got) != 1 {
		t.Errorf("disks: %v", got)
	}
	noError(t, logout(t, n, openTarget))
}

// TestISCSIWarnings: a warning by the initiator service about something that it did is not a failure.
func TestISCSIWarnings(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	for _, function := range []string{
		"AddISCSISendTargetPortal", "RefreshISCSISendTargetPortal", "LoginISCSITarget", "LogoutISCSITarget",
		"RemoveISCSISendTargetPortal",
		"SetISCSIInitiatorCHAPSharedSecret",
	} {
		n.Faults.Add(testnode.Fault{Function: function, Error: win32.ISDSC_OPERATION_REQUIRES_REBOOT, After: true})
	}
	connected(t, n)
	noError(t, logout(t, n, openTarget))
	for call, err := range everyISCSICall(t, n) {
		if err != nil && call != "ConnectTarget" { // there the portal is gone
			t.Errorf("%s: %v", call, err)
		}
	}
}

// TestISCSISecretsStayHidden: no secret appears in an error, nor in what interceptors see of kernel calls.
func TestISCSISecretsStayHidden(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	discovered(t, n)
	var said []string
	try := func(err error) {
		if err != nil {
			said = append(said, err.Error())
		}
	}
	for _, fault := range []testnode.Fault{{}, {Error: win32.ISDSC_TARGET_ERROR}, {Panic: true}} {
		for _, function := range []string{"LoginISCSITarget", "SetISCSIInitiatorCHAPSharedSecret"} {
			if fault.Function, fault.Times = function, 1; fault.Panic || fault.Error != 0 {
				n.Faults.Add(fault)
			}
		}
		try(login(t, n, chapTarget, iscsi.AuthenticationType_MUTUAL_CHAP, "some-user", "hush-hush-hush"))
		try(setMutual(t, n, "hush-hush-hush"))
	}
	try(login(t, n, chapTarget, iscsi.AuthenticationType_MUTUAL_CHAP, chapUser, "hush-hush-hush-hush"))
	for _, call := range n.Faults.Calls() {
		said = append(said, fmt.Sprintf("%+v", call))
	}
	if len(said) < 10 {
		t.Fatalf("only %d texts", len(said))
	}
	for _, text := range said {
		if strings.Contains(text, "hush") {
			t.Errorf("a secret shows: %s", text)
		}
	}
}

// TestISCSIConcurrentCalls: logins, logouts and queries of one target at the same time all succeed.
func TestISCSIConcurrentCalls(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	discovered(t, n)
	var callers sync.WaitGroup
	for i := range 6 {
		callers.Go(func() {
			for range 5 {
				var err error
				switch i % 3 {
				case 0:
					err = login(t, n, openTarget, 0, "", "")
				case 1:
					err = logout(t, n, openTarget)
				default:
					_, err = n.ISCSI.GetTargetDisks(t.Context(),
						&iscsi.GetTargetDisksRequest{TargetPortal: arrayPortal(), Iqn: openTarget})
				}
				if err != nil {
					t.Errorf("caller %d: %v", i, err)
				}
			}
		})
	}
	callers.Wait()
	noError(t, logout(t, n, openTarget))
	if got := n.Tree().GetDisks(); len(got) != 3 {
		t.Errorf("%d disks, want 3", len(got))
	}
}

func errorInfo(err error) *errdetails.ErrorInfo {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info
		}
	}
	return nil
}
