// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

const portalAddress = "192.0.2.10"

func portalConnected(t *testing.T, n *Node, connected bool) {
	t.Helper()
	must(t, n.SetISCSIPortal(portalAddress, iscsi.DefaultPort, connected))
}

// While a portal is cut off nothing is found or logged in to there, and the disks are gone. The initiator goes on trying
// to reconnect the session: it can be listed, asked for devices and ended, after which it does not come back.
func TestOutage(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{})
	discovered(t, n)
	logIn(t, n, openLogin())
	h := openDevice(t, n, lunDrive, win32.GENERIC_READ)
	for range 2 {
		portalConnected(t, n, false)
	}
	wantCode(t, "discovery", n.RefreshISCSISendTargetPortal("", anyPort, thePortal()), win32.ISDSC_CONNECTION_FAILED)
	_, err := n.LoginISCSITarget(chapLogin("chap-secret-123"))
	wantCode(t, "login", err, win32.ISDSC_CONNECTION_FAILED)
	_, err = n.LoginISCSITarget(openLogin())
	wantCode(t, "login again", err, win32.ISDSC_TARGET_ALREADY_LOGGED_IN)
	if len(n.disks.list()) != 3 {
		t.Error("the disk is still there")
	}
	_, err = h.DeviceIoControl(win32.IOCTL_DISK_GET_LENGTH_INFO, nil, make([]byte, 8))
	wantCode(t, "the open disk", err, errVolumeGone)
	sessions := sessionsNow(t, n)
	if len(sessions) != 1 || sessions[0].Connected {
		t.Fatalf("got %+v, want a session without a connection", sessions)
	}
	if _, count, err := n.DevicesForISCSISession(sessions[0].ID); err != nil || count != 0 {
		t.Errorf("%d devices, %v, want none", count, err)
	}
	for range 2 {
		portalConnected(t, n, true)
	}
	if !sessionAndDisk(t, n) {
		t.Error("the session did not come back")
	}
	portalConnected(t, n, false)
	must(t, n.LogoutISCSITarget(sessionsNow(t, n)[0].ID))
	portalConnected(t, n, true)
	if sessionAndDisk(t, n) {
		t.Error("the session came back after its logout")
	}
	if err := n.SetISCSIPortal("192.0.2.11", iscsi.DefaultPort, false); !errdefs.HasReason(err, "NOT_FOUND") {
		t.Errorf("an unknown portal: got %v", err)
	}
}

func TestRebootForgetsLostSessions(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{})
	discovered(t, n)
	logIn(t, n, openLogin())
	must(t, n.LogInISCSITargetForGood(chapLogin("chap-secret-123")))
	portalConnected(t, n, false)
	must(t, n.Reboot())
	if s := sessionsNow(t, n); len(s) != 0 {
		t.Errorf("sessions without a portal: %v", s)
	}
	portalConnected(t, n, true)
	if s := sessionsNow(t, n); len(s) != 1 || s[0].TargetName != iqnChap {
		t.Errorf("got %v, want the persistent session alone", s)
	}
	must(t, n.DropISCSISession(iqnChap))
	must(t, n.LogInISCSITargetForGood(chapLogin("chap-secret-123"))) // which is remembered twice now
	must(t, n.Reboot())
	if s := sessionsNow(t, n); len(s) != 1 {
		t.Errorf("got %v, want one session with a target", s)
	}
}

func TestDropISCSISession(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{})
	discovered(t, n)
	logIn(t, n, openLogin())
	must(t, n.DropISCSISession(iqnOpen))
	if sessionAndDisk(t, n) {
		t.Error("the session is still there")
	}
	logIn(t, n, openLogin())
	portalConnected(t, n, false)
	if got := sessionsNow(t, n); len(got) != 1 {
		t.Errorf("sessions %v", got)
	}
	must(t, n.DropISCSISession(iqnOpen))
	portalConnected(t, n, true)
	if err := n.DropISCSISession(iqnOpen); !errdefs.HasReason(err, "NOT_FOUND") {
		t.Errorf("again: got %v", err)
	}
	logIn(t, n, openLogin())
	must(t, second(n.DetachDisk(3)))
	if pulled, err := n.DetachedDisks(); len(pulled) != 0 || err != nil {
		t.Errorf("a logical unit is a disk that was pulled out: %v, %v", pulled, err)
	}
}

// A session that was dropped does not come back when another portal does.
func TestPortalsComeBackAlone(t *testing.T) {
	s := scenario.Default()
	const another = "192.0.2.11"
	s.ISCSI = append(s.ISCSI, iscsi.Portal{At: iscsi.Endpoint{Address: another, Port: iscsi.DefaultPort}})
	n := openNode(t, t.TempDir(), Options{Scenario: &s})
	discovered(t, n)
	must(t, n.LogInISCSITargetForGood(openLogin()))
	must(t, n.DropISCSISession(iqnOpen))
	for _, connected := range []bool{false, true} {
		must(t, n.SetISCSIPortal(another, iscsi.DefaultPort, connected))
	}
	if sessionAndDisk(t, n) {
		t.Error("the session came back")
	}
}

// The attributes of a disk stay with its address, for whichever disk is there after the next login.
func TestAttributesStayWithTheAddress(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{})
	discovered(t, n)
	for i, login := range []kernel.ISCSILogin{openLogin(), openLogin(), chapLogin("chap-secret-123")} {
		id := logIn(t, n, login)
		d := n.disks[3]
		if known := i > 0; d.record.Offline == known || d.record.ReadOnly == known {
			t.Errorf("login %d: offline %v, read-only %v", i, d.record.Offline, d.record.ReadOnly)
		}
		must(t, d.setAttributes(false, false))
		must(t, n.LogoutISCSITarget(id))
	}
}
