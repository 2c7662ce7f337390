// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
)

const (
	anyPort  = win32.ISCSI_ANY_INITIATOR_PORT
	iqnOpen  = "iqn.2026-01.emulated:open"
	iqnChap  = "iqn.2026-01.emulated:chap"
	lunDrive = `\\.\PhysicalDrive3`
)

func portalAt(address string, port uint16) []byte {
	return win32.ISCSITargetPortal{Address: address, Socket: port}.Bytes()
}

func thePortal() []byte { return portalAt("192.0.2.10", 3260) }

// discovered registers the portal of the default scenario, which is asked for its targets with that.
func discovered(t *testing.T, n *Node) {
	t.Helper()
	must(t, n.AddISCSISendTargetPortal(thePortal()))
}

func openLogin() kernel.ISCSILogin { return kernel.ISCSILogin{Target: iqnOpen, Portal: thePortal()} }

func chapLogin(secret string) kernel.ISCSILogin {
	return kernel.ISCSILogin{
		Target: iqnChap, Portal: thePortal(), AuthType: deviceside.ISCSI_CHAP_AUTH_TYPE, Username: "csi-user",
		Password:             kernel.Secret(secret),
		InformationSpecified: win32.ISCSI_LOGIN_OPTIONS_AUTH_TYPE | win32.ISCSI_LOGIN_OPTIONS_USERNAME | win32.ISCSI_LOGIN_OPTIONS_PASSWORD,
	}
}

func logIn(t *testing.T, n *Node, login kernel.ISCSILogin) win32.ISCSIUniqueID {
	t.Helper()
	id, err := n.LoginISCSITarget(login)
	must(t, err)
	return id
}

func sessionsNow(t *testing.T, n *Node) []win32.ISCSISession {
	t.Helper()
	list, err := n.ISCSISessionList()
	must(t, err)
	sessions, err := win32.ParseISCSISessionList(list.Buffer, list.Base, list.Count)
	must(t, err)
	return sessions
}

func devicesNow(t *testing.T, n *Node, session win32.ISCSIUniqueID) []win32.ISCSIDevice {
	t.Helper()
	b, count, err := n.DevicesForISCSISession(session)
	must(t, err)
	devices, err := win32.ParseISCSIDevices(b, count)
	must(t, err)
	return devices
}

// sessionAndDisk reports whether there is a session, and checks that there is a disk if and only if there is one.
func sessionAndDisk(t *testing.T, n *Node) bool {
	t.Helper()
	sessions := sessionsNow(t, n)
	d, attached := n.disks[3]
	if attached != (len(sessions) == 1) {
		t.Errorf("%d sessions, disk: %v", len(sessions), attached)
	}
	if attached && (!d.record.Offline || d.record.BusType != win32.BusTypeiScsi || d.image.Size != 5<<30) {
		t.Errorf("disk %+v of %d bytes", d.record, d.image.Size)
	}
	return attached
}

func TestISCSICodes(t *testing.T) {
	n := newNode(t, nil)
	elsewhere := portalAt("192.0.2.99", 3260)
	_, err := n.LoginISCSITarget(openLogin())
	wantCode(t, "login before discovery", err, win32.ISDSC_TARGET_NOT_FOUND)
	wantCode(t, "unreachable portal", n.AddISCSISendTargetPortal(elsewhere), win32.ISDSC_CONNECTION_FAILED)
	if _, count, err := n.ReportISCSISendTargetPortals(); count != 1 || err != nil {
		t.Errorf("%d portals, %v: it is registered nevertheless", count, err)
	}
	must(t, n.RemoveISCSISendTargetPortal("", anyPort, elsewhere))
	wantCode(t, "unknown name", n.AddISCSISendTargetPortal(portalAt("array.example", 3260)),
		win32.ISDSC_DNS_NAME_UNRESOLVED)
	wantCode(t, "no portal", n.AddISCSISendTargetPortal(nil), win32.ISDSC_INVALID_PARAMETER)
	wantCode(t, "refresh unregistered", n.RefreshISCSISendTargetPortal("", anyPort, thePortal()),
		win32.ISDSC_PORTAL_NOT_FOUND)
	wantCode(t, "remove unregistered", n.RemoveISCSISendTargetPortal("", anyPort, thePortal()),
		win32.ISDSC_PORTAL_NOT_FOUND)
	discovered(t, n)
	must(t, n.RefreshISCSISendTargetPortal("", anyPort, thePortal()))
	wantCode(t, "register again", n.AddISCSISendTargetPortal(thePortal()), win32.ISDSC_TARGET_PORTAL_ALREADY_EXISTS)
	_, _, err = n.ReportISCSITargetPortals("iqn.2026-01.emulated:none")
	wantCode(t, "portals of an unknown target", err, win32.ISDSC_TARGET_NOT_FOUND)

	wrong := openLogin()
	wrong.Portal = elsewhere
	_, err = n.LoginISCSITarget(wrong)
	wantCode(t, "login elsewhere", err, win32.ISDSC_CONNECTION_FAILED)
	_, err = n.LoginISCSITarget(chapLogin("chap-secret-124"))
	wantCode(t, "wrong secret", err, win32.ISDSC_AUTHENTICATION_FAILURE)
	_, err = n.LoginISCSITarget(chapLogin("short"))
	wantCode(t, "short secret", err, win32.ISDSC_INVALID_TARGET_CHAP_SECRET)
	wantCode(t, "short mutual secret", n.SetISCSIInitiatorCHAPSharedSecret(kernel.Secret("short")),
		win32.ISDSC_INVALID_INITIATOR_CHAP_SECRET)

	id := logIn(t, n, chapLogin("chap-secret-123"))
	_, err = n.LoginISCSITarget(chapLogin("chap-secret-123"))
	wantCode(t, "login again", err, win32.ISDSC_TARGET_ALREADY_LOGGED_IN)
	must(t, n.LogoutISCSITarget(id))
	wantCode(t, "logout again", n.LogoutISCSITarget(id), win32.ISDSC_INVALID_SESSION_ID)
	_, _, err = n.DevicesForISCSISession(id)
	wantCode(t, "devices of no session", err, win32.ISDSC_INVALID_SESSION_ID)
	wantCode(t, "forget no login", n.RemoveISCSIPersistentTarget(iscsi.AdapterName, anyPort, iqnOpen, thePortal()),
		win32.ISDSC_NOT_FOUND)
}

// A login is forgotten for all portals if the caller's portal contains no information.
func TestISCSILoginsOfAllPortals(t *testing.T) {
	n := newNode(t, nil)
	discovered(t, n)
	must(t, n.LogInISCSITargetForGood(openLogin()))
	must(t, n.RemoveISCSIPersistentTarget(iscsi.AdapterName, anyPort, iqnOpen, portalAt("", 0)))
	if _, count, err := n.ISCSIPersistentLogins(); count != 0 || err != nil {
		t.Errorf("%d logins are left, %v", count, err)
	}
}

func TestISCSIDevicesArriveLate(t *testing.T) {
	n := newNode(t, nil)
	discovered(t, n)
	id := logIn(t, n, openLogin())
	var numbers []uint32
	for range 3 {
		numbers = append(numbers, devicesNow(t, n, id)[0].Number.DeviceNumber)
	}
	if diff := cmp.Diff(numbers, []uint32{0xFFFFFFFF, 0xFFFFFFFF, 3}); diff != "" {
		t.Errorf("device numbers (-got +want):\n%s", diff)
	}
	if got := devicesNow(t, n, id)[0]; got.InterfaceName != n.disks[3].path {
		t.Errorf("device %+v", got)
	}
}

func TestISCSITwoSessionsHaveTwoAddresses(t *testing.T) {
	n := newNode(t, nil)
	discovered(t, n)
	logIn(t, n, openLogin())
	logIn(t, n, chapLogin("chap-secret-123"))
	a := n.disks[3]
	b := n.disks[4]
	if a == nil || b == nil || a.address() == b.address() || a.record.LUN != 0 || b.record.LUN != 0 {
		t.Errorf("disks %+v and %+v", a, b)
	}
}

func TestISCSIBusyDisk(t *testing.T) {
	n := newNode(t, nil)
	discovered(t, n)
	id := logIn(t, n, openLogin())
	busy := func(what string) {
		t.Helper()
		wantCode(t, what, n.LogoutISCSITarget(id), win32.ISDSC_DEVICE_BUSY_ON_SESSION)
	}
	d := n.disks[3]
	must(t, d.setAttributes(false, false))
	name := formatted(t, n, lunDrive)

	h, err := n.OpenDevice(strings.TrimSuffix(name, `\`), 0)
	must(t, err)
	busy("an open volume")
	must(t, h.Close())
	mkdir(t, n, crashDir)
	must(t, n.SetVolumeMountPoint(crashDir+`\`, name))
	busy("a mounted volume")
	f := openFile(t, n, mkdir(t, n, crashDir+`\file`), how(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, 0))
	must(t, n.DeleteVolumeMountPoint(crashDir+`\`))
	busy("an open file")
	must(t, f.Close())
	must(t, n.SetVolumeMountPoint(`X:\`, name)) // a letter alone does not keep the session
	must(t, n.LogoutISCSITarget(id))

	// The volume and its files are there at the next login, under the letter that it had.
	logIn(t, n, openLogin())
	if l := layoutOf(t, n, 3); !l.HasDataPartition() {
		t.Errorf("layout after the second login: %+v", l)
	}
}

// TestISCSIKeeps: the death of the process ends no session; a reboot ends all of them, but portals stay registered.
func TestISCSIKeeps(t *testing.T) {
	dir := t.TempDir()
	n := openNode(t, dir, Options{})
	discovered(t, n)
	must(t, n.SetISCSIInitiatorCHAPSharedSecret(kernel.Secret("callers-secret")))
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if must(t, err); strings.Contains(string(text), "callers-secret") {
		t.Error("node.json holds the secret")
	}
	must(t, n.SetISCSIInitiatorCHAPSharedSecret(kernel.Secret("mutual-secret1")))
	id := logIn(t, n, openLogin())
	must(t, n.Close())

	n = openNode(t, dir, Options{})
	if got := sessionsNow(t, n); len(got) != 1 || got[0].ID != id || !got[0].Connected ||
		!sessionAndDisk(t, n) {
		t.Errorf("sessions after a restart: %+v", got)
	}
	must(t, n.Reboot())
	if got := sessionsNow(t, n); len(got) != 0 || sessionAndDisk(t, n) {
		t.Errorf("sessions after a reboot: %+v", got)
	}
	if _, count, err := n.ReportISCSISendTargetPortals(); count != 1 || err != nil {
		t.Errorf("%d portals, %v", count, err)
	}
	login := chapLogin("chap-secret-123")
	login.Target, login.AuthType = "iqn.2026-01.emulated:mutual", deviceside.ISCSI_MUTUAL_CHAP_AUTH_TYPE
	logIn(t, n, login)
}

// TestISCSIPulledDisk: a LUN's disk that was pulled by hand comes back, with its content, at the next login.
func TestISCSIPulledDisk(t *testing.T) {
	n := newNode(t, nil)
	discovered(t, n)
	id := logIn(t, n, openLogin())
	must(t, n.GrowDisk(3, 6<<30))
	_, err := n.DetachDisk(3)
	must(t, err)
	if got := devicesNow(t, n, id); len(got) != 0 {
		t.Errorf("devices %+v", got)
	}
	must(t, n.LogoutISCSITarget(id))
	logIn(t, n, openLogin())
	if d, ok := n.disks[3]; !ok || d.image.Size != 6<<30 {
		t.Error("the disk did not come back as it was")
	}
}
