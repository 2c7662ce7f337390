// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/windows"
	"google.golang.org/grpc/codes"

	iscsi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

const (
	wrongSecret  = "not-the-secret"
	targetSecret = "the-target-16-by" // the longest that there is
	mutualSecret = "mutual-secre"     // the shortest
)

// connect connects to a target at portal A.
func (l *iscsiLife) connect(want codes.Code, target string, how *iscsi.ConnectTargetRequest) {
	l.t.Helper()
	how.TargetPortal, how.Iqn = at(portalA), target
	l.call(want, "ConnectTarget", how, &iscsi.ConnectTargetResponse{})
}

func (l *iscsiLife) disconnect(target string) {
	l.t.Helper()
	l.call(codes.OK, "DisconnectTarget", &iscsi.DisconnectTargetRequest{TargetPortal: at(portalA), Iqn: target},
		&iscsi.DisconnectTargetResponse{})
}

// wantCall fails unless the last call of a function in the log begins with a text.
func (l *iscsiLife) wantCall(function, want string) {
	l.t.Helper()
	calls := l.initiator.calls(function + " ")
	if len(calls) == 0 || !strings.HasPrefix(calls[len(calls)-1], function+" "+want) {
		l.t.Errorf("the calls of %s are %q, the last should begin with %q", function, calls, want)
	}
}

func (l *iscsiLife) sessions() {
	none := func() *iscsi.ConnectTargetRequest { return &iscsi.ConnectTargetRequest{} }
	l.initiator.world(network()...)
	l.connect(codes.NotFound, "iqn.2026-01.invalid:nowhere", none())
	l.connect(codes.OK, plain, none())
	l.wantCall("LoginIScsiTargetW", plain+" "+portalA+" 3260 auth=0 user= flags=0x0 = 0x00000000")
	made := len(l.initiator.calls("LoginIScsiTargetW "))
	l.connect(codes.OK, plain, none()) // again
	if again := len(l.initiator.calls("LoginIScsiTargetW ")); again != made {
		l.t.Errorf("connecting again logged in %d times", again-made)
	}
	// Another program logs in between the two calls that read the list, and has this target's logins repeated after
	// restarts.
	l.initiator.world(network("after GetIScsiSessionListW session "+chap+" "+portalA+" 3260",
		"login "+plain+" "+portalA+" 3260",
		"login "+plain+" "+portalB+" 3260", "login "+mutual+" "+portalA+" 3260")...)
	l.disconnect(plain)
	l.wantCall("LogoutIScsiTarget", plain+" = 0x00000000")
	for _, portal := range []string{portalA, portalB} { // each by its own portal; none would mean all portals
		l.wantCall("RemoveIScsiPersistentTargetW "+plain+" "+portal, "3260 = 0x00000000")
	}
	if removed := l.initiator.calls("RemoveIScsiPersistentTargetW " + mutual + " "); len(removed) > 0 {
		l.t.Errorf("the login to another target was forgotten: %q", removed)
	}
	out := len(l.initiator.calls("LogoutIScsiTarget "))
	l.disconnect(plain) // again
	if again := len(l.initiator.calls("LogoutIScsiTarget ")); again != out {
		l.t.Errorf("disconnecting again logged out %d times", again-out)
	}
	l.disconnect(chap)
	l.disconnect(mutual) // no session; but the login is forgotten
	l.wantCall("RemoveIScsiPersistentTargetW", mutual+" "+portalA+" 3260 = 0x00000000")
}

func (l *iscsiLife) authentication() {
	with := func(kind iscsi.AuthenticationType, user, secret string) *iscsi.ConnectTargetRequest {
		return &iscsi.ConnectTargetRequest{AuthType: kind, ChapUsername: user, ChapSecret: secret}
	}
	oneWay, both := iscsi.AuthenticationType_ONE_WAY_CHAP, iscsi.AuthenticationType_MUTUAL_CHAP
	l.initiator.world(network()...)
	l.connect(codes.Unauthenticated, chap, with(iscsi.AuthenticationType_NONE, "", ""))
	l.connect(codes.Unauthenticated, chap, with(oneWay, "the-user", wrongSecret))
	l.connect(codes.Unauthenticated, chap, with(oneWay, "another-user", targetSecret))
	l.connect(codes.OK, chap, with(oneWay, "the-user", targetSecret))
	l.wantCall("LoginIScsiTargetW", chap+" "+portalA+" 3260 auth=1 user=the-user flags=0x0 = 0x00000000")
	l.disconnect(chap)

	// Without a user name the node's own is used.
	name, err := windows.ComputerName()
	caller.OK(l.t, err)
	node := "iqn.1991-05.com.microsoft:" + strings.ToLower(name)
	l.initiator.world(network("target iqn.2026-01.invalid:node "+portalA+" 3260",
		"chap iqn.2026-01.invalid:node "+node+" "+targetSecret)...)
	l.wantTargets(portalA, plain, chap, mutual, "iqn.2026-01.invalid:node")
	l.connect(codes.OK, "iqn.2026-01.invalid:node", with(oneWay, "", targetSecret))
	l.disconnect("iqn.2026-01.invalid:node")

	l.initiator.world(network()...)
	if l.version == "v1alpha2" {
		set := func(want codes.Code, secret string) {
			l.t.Helper()
			l.call(want, "SetMutualChapSecret", &iscsi.SetMutualChapSecretRequest{MutualChapSecret: secret},
				&iscsi.SetMutualChapSecretResponse{})
		}
		set(codes.InvalidArgument, "too-short-1")
		set(codes.InvalidArgument, "this-is-too-long-")
		set(codes.OK, "longest-of-all-s") // the target knows another
		l.wantCall("SetIScsiInitiatorCHAPSharedSecret", "16 bytes = 0x00000000")
		l.connect(codes.Unauthenticated, mutual, with(both, "the-user", targetSecret))
		set(codes.OK, mutualSecret)
		l.connect(codes.OK, mutual, with(both, "the-user", targetSecret))
		l.wantCall("LoginIScsiTargetW", mutual+" "+portalA+" 3260 auth=2 user=the-user flags=0x0 = 0x00000000")
	} else { // no secret is set
		l.connect(codes.InvalidArgument, mutual, with(both, "the-user", targetSecret))
	}
	l.disconnect(mutual)
}

func (l *iscsiLife) wantDisks(target string, want ...string) {
	l.t.Helper()
	var response iscsi.GetTargetDisksResponse
	l.call(codes.OK, "GetTargetDisks", &iscsi.GetTargetDisksRequest{TargetPortal: at(portalA), Iqn: target}, &response)
	if got := response.GetDiskIDs(); !slices.Equal(got, want) {
		l.t.Fatalf("the disks of %s are %q, want %q", target, got, want)
	}
}

func (l *iscsiLife) disks() {
	disks := []string{}
	for _, number := range []int{41, 42, 43, 44, 45, 46} {
		disks = append(disks, fmt.Sprintf("lun %s %d", plain, number))
	}
	l.initiator.world(network(disks...)...)
	l.wantDisks(plain) // not connected
	l.initiator.world(network(append(disks, "late "+plain+" 1")...)...)
	l.connect(codes.OK, plain, &iscsi.ConnectTargetRequest{})
	l.wantDisks(plain, "41", "42", "43", "44", "45", "46")
	// Windows answers for a moment that a device or the session is busy, or that a buffer is too small whatever its size.
	l.initiator.world(network(append(disks, "once GetDevicesForIScsiSessionW 0xEFFF001F",
		"once GetDevicesForIScsiSessionW 0xEFFF0040")...)...)
	l.wantDisks(plain, "41", "42", "43", "44", "45", "46")
	// One more arrives between two calls.
	l.initiator.world(network(append(disks, "after GetDevicesForIScsiSessionW lun "+plain+" 47")...)...)
	l.wantDisks(plain, "41", "42", "43", "44", "45", "46", "47")
	l.disconnect(plain) // Wine has no such disks, so no volume on them is flushed or found mounted
	l.wantDisks(plain)
}

func (l *iscsiLife) failures() {
	none := func() *iscsi.ConnectTargetRequest { return &iscsi.ConnectTargetRequest{} }
	// Transient failures are retried: a busy session, a buffer that is too small although a login has none.
	l.initiator.world(network("once LoginIScsiTargetW 0xEFFF001F", "once LoginIScsiTargetW 122",
		"once LogoutIScsiTarget 0xEFFF0040")...)
	l.connect(codes.OK, plain, none())
	l.disconnect(plain)
	// A login whose answer is lost is found when the caller comes again.
	l.initiator.world(network("lost LoginIScsiTargetW 0xEFFF0039")...)
	l.connect(codes.Unavailable, plain, none())
	l.connect(codes.OK, plain, none())
	// The session ends while the agent is about to end it.
	l.initiator.world(network("lost LogoutIScsiTarget 0xEFFF001C")...)
	l.disconnect(plain)
	// The service does not answer, and its state is unknown: Wine has no such service.
	l.initiator.world(network("answer GetIScsiSessionListW 1722")...)
	l.connect(codes.Unavailable, plain, none())
	// A Win32 code as an HRESULT, once, for a list whose buffer then need not grow.
	l.initiator.world(network("once GetIScsiSessionListW 0x8007007A")...)
	l.disconnect(plain)
	// Both lists want a buffer of no bytes, for a moment (common-host-libs): there are targets, and there are no logins.
	l.initiator.world(network("empty ReportIScsiTargetsW 122")...)
	l.wantTargets(portalA, plain, chap, mutual)
	l.initiator.world(network("empty ReportIScsiPersistentLoginsW 122")...)
	l.disconnect(plain)
	// iscsierr.h calls some codes warnings: the list is there, and the secret is set.
	l.initiator.world(network("lost ReportIScsiTargetsW 0xAFFF002E")...)
	l.wantTargets(portalA, plain, chap, mutual)
	l.initiator.world(network("lost SetIScsiInitiatorCHAPSharedSecret 0xAFFF0048")...)
	if l.version == "v1alpha2" {
		l.call(codes.OK, "SetMutualChapSecret", &iscsi.SetMutualChapSecretRequest{MutualChapSecret: mutualSecret},
			&iscsi.SetMutualChapSecretResponse{})
	}
	// An unexpected code.
	l.initiator.world(network("answer RemoveIScsiSendTargetPortalW 31")...)
	l.call(codes.Internal, "RemoveTargetPortal", &iscsi.RemoveTargetPortalRequest{TargetPortal: at(portalA)},
		&iscsi.RemoveTargetPortalResponse{})
	l.wantPortals(portalA+" 3260", portalB+" 3260")
	l.initiator.world(network()...)
	for _, address := range []string{portalA, portalB} {
		l.call(codes.OK, "RemoveTargetPortal", &iscsi.RemoveTargetPortalRequest{TargetPortal: at(address)},
			&iscsi.RemoveTargetPortalResponse{})
	}
	l.wantPortals()
	l.connect(codes.NotFound, plain, none()) // known no more
}
