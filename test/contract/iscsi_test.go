// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	api "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

const (
	openTarget   = caller.OpenTarget
	chapTarget   = caller.CHAPTarget
	mutualTarget = "iqn.2026-01.emulated:mutual"
	mutualSecret = "mutual-secret1"
)

// A portal that is registered by its DNS name, or behind a NAT, names targets that answer at another address.
func TestISCSIAdvertisedAddress(t *testing.T) {
	const inside = "iqn.2026-01.emulated:inside"
	for _, address := range []string{"array.example", "198.51.100.1"} {
		n := caller.Scenario(t, func(s *scenario.Scenario) {
			array := iscsi.Portal{Advertises: "10.0.0.7", Targets: []iscsi.Target{{Name: inside}}}
			array.At.Address, array.At.Port = address, 3260
			s.ISCSI = append(s.ISCSI, array)
		})
		n.OK(n.AddTargetPortal(address))
		if found, err := n.DiscoverTargetPortal(address); err != nil || !slices.Equal(found, []string{inside}) {
			t.Errorf("%s: the targets are %q, %v", address, found, err)
		}
		if found := n.Discovered(); slices.Contains(found, inside) {
			t.Errorf("%s: the other portal's targets are %q", address, found)
		}
	}
}

func TestISCSIAuthentication(t *testing.T) {
	t.Parallel()
	const none, chap, mutual = api.AuthenticationType_NONE, api.AuthenticationType_ONE_WAY_CHAP,
		api.AuthenticationType_MUTUAL_CHAP
	const user, secret = caller.CHAPUser, caller.CHAPSecret
	for _, test := range []struct {
		name   string
		set    string // mutual secret of the node
		target string
		auth   api.AuthenticationType
		user   string
		secret string
		want   codes.Code
	}{
		{"open", "", openTarget, none, "", "", codes.OK},
		{"open, other fields are not looked at", "", openTarget, none, "\x00", "short", codes.OK},
		{"CHAP for an open target", "", openTarget, chap, user, secret, codes.OK},
		{"mutual CHAP for an open target", "", openTarget, mutual, user, secret, codes.OK},
		{"no CHAP", "", chapTarget, none, user, secret, codes.Unauthenticated},
		{"CHAP", "", chapTarget, chap, user, secret, codes.OK},
		{"wrong secret", "", chapTarget, chap, user, "chap-secret-124", codes.Unauthenticated},
		{"wrong user", "", chapTarget, chap, "root", secret, codes.Unauthenticated},
		{"user left out", "", chapTarget, chap, "", secret, codes.Unauthenticated},
		{"mutual, target without secret", mutualSecret, chapTarget, mutual, user, secret, codes.Unauthenticated},
		{"mutual", mutualSecret, mutualTarget, mutual, user, secret, codes.OK},
		{"mutual, the shortest secret", "twelve-bytes", mutualTarget, mutual, user, secret, codes.Unauthenticated},
		{"mutual, the longest secret", "sixteen-bytes-16", mutualTarget, mutual, user, secret, codes.Unauthenticated},
		{"mutual, not set", "", mutualTarget, mutual, user, secret, codes.Unauthenticated},
		{"one way for a target that can do both", "", mutualTarget, chap, user, secret, codes.OK},
		{"short secret", "", chapTarget, chap, user, "eleven-byte", codes.InvalidArgument},
		{"long secret", "", chapTarget, chap, user, "seventeen-bytes-1", codes.InvalidArgument},
		{"no secret", "", chapTarget, mutual, user, "", codes.InvalidArgument},
		{"control character in the user name", "", chapTarget, chap, "csi\n", secret, codes.InvalidArgument},
		{"long user name", "", chapTarget, chap, strings.Repeat("u", 256), secret, codes.InvalidArgument},
		{"unknown type", "", openTarget, 3, user, secret, codes.InvalidArgument},
		{"negative type", "", openTarget, -1, user, secret, codes.InvalidArgument},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n := caller.Start(t, testnode.Options{})
			n.Discovered()
			if test.set != "" {
				n.OK(n.SetMutualChapSecret(test.set))
			}
			err := n.ConnectTargetAs(test.target, test.auth, test.user, test.secret)
			n.Code(err, test.want)
			if tried := n.Called("LoginISCSITarget"); test.want == codes.InvalidArgument && len(tried) > 0 {
				t.Errorf("Windows was asked for what makes no sense: %q", tried)
			}
			for _, secret := range []string{secret, mutualSecret, test.secret, test.set} {
				if err != nil && secret != "" && strings.Contains(err.Error(), secret) {
					t.Errorf("the error shows a secret: %v", err)
				}
			}
			if disks := n.TargetDisks(test.target); (len(disks) == 1) != (test.want == codes.OK) {
				t.Errorf("the disks are %q", disks)
			}
		})
	}
}

// What can be refused by the text is refused before the initiator is asked.
func TestISCSITexts(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	n.Code(n.SetMutualChapSecret("eleven-byte"), codes.InvalidArgument)
	n.Code(n.ConnectTarget("disk"), codes.InvalidArgument)
	if tried := n.Called("SetISCSIInitiatorCHAPSharedSecret", "ISCSISessionList", "LoginISCSITarget"); len(tried) > 0 {
		t.Errorf("Windows was asked: %q", tried)
	}
}

// A volume on the disk of a target lives as any other, and its content survives the session. While it is mounted, the
// node stays logged in; what was written is flushed before the logout.
func TestISCSIDisk(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	n.Connected()
	n.OK(n.ConnectTargetAs(strings.ToUpper(openTarget), api.AuthenticationType_ONE_WAY_CHAP, caller.CHAPUser,
		"another-secret")) // connected already
	got := n.Tree().Disks[3]
	if got.BusType != "iSCSI" || got.IsOnline() || !got.IsReadOnly() || got.SizeBytes != 5<<30 {
		t.Errorf("the new disk is %v", got)
	}
	for i := range 2 {
		if i == 0 {
			n.OK(n.MountVolume(n.Formatted(3), staging))
			n.WriteFile(staging+`\file`, "data")
			n.OK(n.Emulated.SetVolumeMountPoint(`E:\`, n.Volumes(3)[0])) // automount's, which no call removes
		} else { // a disk with partitions is left as it comes
			n.OK(n.SetDiskState(3, true))
			n.OK(n.MountVolume(n.Volumes(3)[0], staging))
			n.Holds(staging+`\file`, "data")
		}
		n.Code(n.DisconnectTarget(openTarget), codes.FailedPrecondition, staging)
		if got := n.TargetDisks(openTarget); len(got) != 1 {
			t.Errorf("disks after a logout that was refused: %v", got)
		}
		n.OK(n.UnmountVolume(n.Volumes(3)[0], staging))
		n.Faults.Add(testnode.Fault{Function: "Flush", Times: 1, Error: win32.ERROR_IO_DEVICE})
		n.Code(n.DisconnectTarget(openTarget), codes.Unavailable)
		n.Called()
		n.OK(n.DisconnectTarget(openTarget))
		if len(n.Called("Flush")) == 0 {
			t.Error("the volume was not flushed before the logout")
		}
		_, err := n.GetDiskStats(3)
		n.Code(err, codes.NotFound)
		n.OK(n.ConnectTarget(openTarget))
		n.TargetDisks(openTarget) // waits for them
	}
}

// TestISCSILogoutInOutage: while the initiator shows no disks of a session, the node stays logged in for a volume that
// is mounted.
func TestISCSILogoutInOutage(t *testing.T) {
	t.Parallel()
	n := caller.Start(t, testnode.Options{})
	n.Connected()
	id := n.Mounted(3)
	n.WriteFile(staging+`\file`, "data")
	cutOff := func() { n.DisconnectISCSIPortal(caller.Array, 0) }
	cutOff()
	n.Code(n.DisconnectTarget(openTarget), codes.Unavailable, staging)
	n.ConnectISCSIPortal(caller.Array, 0)
	n.Holds(staging+`\file`, "data")
	cutOff()
	n.OK(n.UnmountVolume(id, staging))
	n.OK(n.DisconnectTarget(openTarget))
	n.ConnectISCSIPortal(caller.Array, 0)
	if got := len(n.Tree().Disks); got != 3 {
		t.Errorf("%d disks after a logout in the outage", got)
	}
}

// A logout forgets logins that Windows repeats after each start.
func TestISCSIPersistentLogin(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	n.Discovered()
	n.OK(n.Emulated.LogInISCSITargetForGood(kernel.ISCSILogin{
		Target: openTarget, Portal: win32.ISCSITargetPortal{Address: caller.Array, Socket: 3260}.Bytes(),
	}))
	n.Reboot()
	n.OK(n.ConnectTarget(openTarget)) // connected already
	n.OK(n.DisconnectTarget(openTarget))
	n.Reboot()
	if got := n.Tree().Disks; len(got) != 3 {
		t.Errorf("%d disks, the persistent login was not forgotten", len(got))
	}
}

// everyISCSICall makes each call of the group with good arguments.
func everyISCSICall(n *caller.Node) map[string]error {
	errs := map[string]error{}
	errs["AddTargetPortal"] = n.AddTargetPortal(caller.Array)
	_, errs["DiscoverTargetPortal"] = n.DiscoverTargetPortal(caller.Array)
	errs["RemoveTargetPortal"] = n.RemoveTargetPortal(caller.Array)
	_, errs["ListTargetPortals"] = n.ListTargetPortals()
	errs["ConnectTarget"] = n.ConnectTarget(openTarget)
	errs["DisconnectTarget"] = n.DisconnectTarget(openTarget)
	_, errs["GetTargetDisks"] = n.GetTargetDisks(openTarget)
	errs["SetMutualChapSecret"] = n.SetMutualChapSecret(mutualSecret)
	return errs
}

func TestISCSIServiceStopped(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	n.OK(n.StopService("MSiSCSI", true))
	check := func() {
		t.Helper()
		for call, err := range everyISCSICall(n) {
			if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "MSiSCSI") {
				t.Errorf("%s: %v", call, err)
			}
		}
	}
	check()
	// Windows may use another code for it.
	for _, code := range []win32.Errno{win32.RPC_S_SERVER_UNAVAILABLE, win32.EPT_S_NOT_REGISTERED,
		win32.ERROR_SERVICE_NOT_ACTIVE} {
		for _, function := range []string{"ReportISCSISendTargetPortals", "ISCSISessionList",
			"SetISCSIInitiatorCHAPSharedSecret"} {
			n.Faults.Add(testnode.Fault{Function: function, Error: code})
		}
		check()
		n.Faults.Release()
	}
	n.OK(n.StartService("MSiSCSI"))
	n.Connected()
	n.Faults.Add(testnode.Fault{Function: "ISCSISessionList", Times: 1, Error: win32.RPC_S_SERVER_UNAVAILABLE})
	n.Code(n.DisconnectTarget(openTarget), codes.Unavailable) // it runs, and only failed to answer
}

func TestISCSIBusy(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	fail := func(function string, codes ...win32.Errno) {
		for _, code := range codes {
			n.Faults.Add(testnode.Fault{Function: function, Times: 2, Error: code})
		}
	}
	devices := []win32.Errno{win32.ISDSC_SESSION_BUSY, win32.ISDSC_DEVICE_BUSY_ON_SESSION,
		win32.ERROR_INSUFFICIENT_BUFFER, win32.ISDSC_BUFFER_TOO_SMALL}
	// Windows may report for a moment that a list needs a buffer, of no size.
	fail("ReportISCSITargets", win32.ERROR_INSUFFICIENT_BUFFER, win32.ERROR_INSUFFICIENT_BUFFER)
	fail("LoginISCSITarget", win32.ERROR_INSUFFICIENT_BUFFER, win32.ISDSC_SESSION_BUSY)
	fail("DevicesForISCSISession", devices...)
	if disks := n.Connected(); !slices.Equal(disks, []string{"3"}) {
		t.Errorf("the disks are %q", disks)
	}
	fail("DevicesForISCSISession", devices...)
	fail("LogoutISCSITarget", win32.ISDSC_SESSION_BUSY, win32.ISDSC_DEVICE_BUSY_ON_SESSION)
	n.OK(n.DisconnectTarget(openTarget))
	// A login or logout that took effect and failed all the same is completed by the next call.
	n.Faults.Add(testnode.Fault{Function: "LoginISCSITarget", Times: 1, Error: win32.ISDSC_TRANSPORT_ERROR, After: true})
	n.Code(n.ConnectTarget(openTarget), codes.Unavailable)
	n.OK(n.ConnectTarget(openTarget))
	n.Faults.Add(testnode.Fault{Function: "LogoutISCSITarget", Times: 1, Error: win32.ISDSC_TRANSPORT_ERROR, After: true})
	err := n.DisconnectTarget(openTarget)
	n.Refused(err, codes.Unavailable, "ISDSC_TRANSPORT_ERROR")
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetMetadata()["win32"] != "4026466340" {
			t.Errorf("details %v", info)
		}
	}
	n.OK(n.DisconnectTarget(openTarget))
}

// TestISCSIPortalThatFails: a registration that failed leaves no portal, so that the next one fails as well and does
// not mistake what the first one left for success.
func TestISCSIPortalThatFails(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	portals := func(want ...string) {
		t.Helper()
		if got, err := n.ListTargetPortals(); err != nil || !slices.Equal(got, want) {
			t.Errorf("the portals are %q, %v, want %q", got, err, want)
		}
	}
	refuse := testnode.Fault{Function: "AddISCSISendTargetPortal", Times: 1, Error: win32.ISDSC_AUTHENTICATION_FAILURE,
		After: true}
	for range 2 {
		for _, address := range []string{"192.0.2.11", "array.example", "2001:db8::1"} { // no answer there
			n.Code(n.AddTargetPortal(address), codes.Unavailable)
			portals()
		}
		n.Faults.Add(refuse)
		n.Code(n.AddTargetPortal(caller.Array), codes.Unauthenticated)
		portals()
	}
	// Where the portal cannot be removed, the caller gets the first error.
	for function, skip := range map[string]int{"RemoveISCSISendTargetPortal": 0,
		"ReportISCSISendTargetPortals": 1} { // the list before the registration
		n.Faults.Add(refuse)
		n.Faults.Add(testnode.Fault{Function: function, Skip: skip, Times: 1, Error: win32.ISDSC_TARGET_ERROR})
		n.Code(n.AddTargetPortal(caller.Array), codes.Unauthenticated)
		n.OK(n.RemoveTargetPortal(caller.Array))
		portals()
	}
	// A portal that was registered before is neither asked nor removed.
	n.Discovered()
	n.DisconnectISCSIPortal(caller.Array, 0)
	n.OK(n.AddTargetPortal(caller.Array))
	portals(caller.Array + ":3260")
}

// TestISCSIWarnings: a warning by the initiator service about something that it did is not a failure.
func TestISCSIWarnings(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	for _, function := range []string{"AddISCSISendTargetPortal", "RefreshISCSISendTargetPortal", "LoginISCSITarget",
		"LogoutISCSITarget", "RemoveISCSISendTargetPortal", "SetISCSIInitiatorCHAPSharedSecret"} {
		n.Faults.Add(testnode.Fault{Function: function, Error: win32.ISDSC_OPERATION_REQUIRES_REBOOT, After: true})
	}
	n.Connected()
	n.OK(n.DisconnectTarget(openTarget))
	for call, err := range everyISCSICall(n) {
		if err != nil && call != "ConnectTarget" { // there the portal is gone
			t.Errorf("%s: %v", call, err)
		}
	}
}

// TestISCSISecretsStayHidden: no secret appears in an error, nor in what interceptors see of kernel calls.
func TestISCSISecretsStayHidden(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	n.Discovered()
	var said []string
	for _, disturb := range []func(function string){
		func(function string) { n.Once(function, win32.ISDSC_TARGET_ERROR) }, n.Faults.Panic,
	} {
		disturb("SetISCSIInitiatorCHAPSharedSecret")
		said = append(said, fmt.Sprint(n.SetMutualChapSecret("hush-hush-hush")))
		disturb("LoginISCSITarget")
		said = append(said, fmt.Sprint(n.ConnectTargetAs(chapTarget, api.AuthenticationType_MUTUAL_CHAP, "some-user",
			"hush-hush-hush")))
	}
	for _, call := range n.Faults.Calls() {
		said = append(said, fmt.Sprintf("%+v", call))
	}
	if text := strings.Join(said, "\n"); strings.Contains(text, "hush") || !strings.Contains(text, "LoginISCSITarget") {
		t.Errorf("a secret shows, or no call:\n%s", text)
	}
}

// TestISCSIConcurrentCalls: logins, logouts and queries of one target at the same time all succeed.
func TestISCSIConcurrentCalls(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	n.Discovered()
	var callers sync.WaitGroup
	for _, call := range []func() error{
		func() error { return n.ConnectTarget(openTarget) }, func() error { return n.DisconnectTarget(openTarget) },
		func() error { _, err := n.GetTargetDisks(openTarget); return err },
	} {
		for range 2 {
			callers.Go(func() {
				for range 5 {
					if err := call(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	callers.Wait()
	n.OK(n.DisconnectTarget(openTarget))
	if got := n.Tree().Disks; len(got) != 3 {
		t.Errorf("%d disks, want 3", len(got))
	}
}
