// SPDX-License-Identifier: Apache-2.0

package node

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/calls"
)

// scriptedISCSI is an initiator service with at most one target, whose disk comes late.
type scriptedISCSI struct {
	kernel.Kernel
	connected, reconnecting bool
	disk                    time.Time // the time from which the disk has its number
	secrets                 []string  // the secrets of logins
	during                  func()    // called in each login
	err                     error     // of logins
	busy                    error     // of queries for devices
	queries                 int
	logoutErr               error
	logouts                 int
}

const scriptedTarget = "iqn.2001-04.com.example:disk"

func (k *scriptedISCSI) iscsi(t *testing.T) *calls.Calls {
	t.Helper()
	return by(t.Context(), bare(t, k))
}

func (k *scriptedISCSI) ISCSISessionList() (kernel.ISCSISessions, error) {
	var sessions []win32.ISCSISession
	if k.connected || k.reconnecting {
		s := win32.ISCSISession{TargetNodeName: scriptedTarget, Connected: k.connected}
		sessions = append(sessions, s)
	}
	return kernel.ISCSISessions{Buffer: deviceside.ISCSISessionList(sessions, 0x1000), Base: 0x1000, Count: len(sessions)}, nil
}

func (k *scriptedISCSI) DevicesForISCSISession(win32.ISCSIUniqueID) ([]byte, int, error) {
	k.queries++
	if k.busy != nil {
		return nil, 0, k.busy
	}
	device := win32.ISCSIDevice{
		Number: win32.StorageDeviceNumber{DeviceType: win32.FILE_DEVICE_DISK, DeviceNumber: 7}}
	if time.Now().Before(k.disk) {
		device.Number.DeviceNumber = 0xFFFFFFFF
	}
	return deviceside.ISCSIDevice(device), 1, nil
}

func (k *scriptedISCSI) LoginISCSITarget(login kernel.ISCSILogin) (win32.ISCSIUniqueID, error) {
	k.secrets = append(k.secrets, string(login.Password))
	if k.during != nil {
		k.during()
	}
	k.connected = k.err == nil
	return win32.ISCSIUniqueID{}, k.err
}

// A login's disks are waited for, for ten seconds from the login on, however many calls there are. Disks that come back
// with a lost connection are not.
func TestGetTargetDisksWaitsAfterALogin(t *testing.T) {
	for name, test := range map[string]struct {
		login, lost bool          // by this agent; it has lost its connection since
		ago         time.Duration // since the login
		comes       time.Duration // the disk, from now on
		want        []string
		least, most time.Duration // the call takes; it waits in steps
	}{
		"after a login": {login: true, comes: 4 * time.Second, want: []string{"7"}, least: 4 * time.Second,
			most: 4500 * time.Millisecond},
		"too late":               {login: true, comes: time.Hour, least: arrivalTime, most: arrivalTime + time.Second/2},
		"at once":                {login: true, want: []string{"7"}},
		"long after a login":     {login: true, ago: arrivalTime + time.Second, comes: time.Hour},
		"the connection is lost": {login: true, lost: true, comes: time.Hour},
		"connected already, perhaps by an agent that died": {comes: 4 * time.Second, want: []string{"7"},
			least: 4 * time.Second, most: 4500 * time.Millisecond},
		"connected, and disk there": {want: []string{"7"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := &scriptedISCSI{connected: !test.login}
				n := bare(t, k)
				s := by(t.Context(), n)
				must(t, s.ConnectTarget(scriptedTarget))
				time.Sleep(test.ago)
				if test.lost {
					k.connected, k.reconnecting = false, true
				}
				begin := time.Now()
				k.disk = begin.Add(test.comes)
				got, err := s.GetTargetDisks(scriptedTarget)
				if took := time.Since(begin); err != nil || !slices.Equal(got, test.want) || took < test.least || took > test.most {
					t.Errorf("got %v, %v after %v", got, err, took)
				}
				if until := n.disksUntil(scriptedTarget); test.ago > arrivalTime && !until.IsZero() {
					t.Errorf("a login that is over is remembered: %v", until)
				}
			})
		})
	}
}

func (k *scriptedISCSI) VolumeNames() ([]string, error) { return nil, nil }

func (k *scriptedISCSI) OpenDevice(string, uint32) (kernel.Handle, error) {
	return nil, win32.ERROR_FILE_NOT_FOUND
}

func (k *scriptedISCSI) ISCSIPersistentLogins() ([]byte, int, error) { return nil, 0, nil }

func (k *scriptedISCSI) LogoutISCSITarget(win32.ISCSIUniqueID) error {
	k.logouts++
	return k.logoutErr
}

// TestBusyEnds: the wait for what is busy for a moment, as a rule, is limited.
func TestBusyEnds(t *testing.T) {
	enough := func(calls int) bool { return calls >= 10 && calls <= 60 }
	for code, class := range map[win32.Errno]errdefs.Class{
		win32.ISDSC_DEVICE_BUSY_ON_SESSION: errdefs.FailedPrecondition, win32.ERROR_INSUFFICIENT_BUFFER: errdefs.Internal,
		win32.ISDSC_SESSION_BUSY: errdefs.Unavailable,
	} {
		synctest.Test(t, func(t *testing.T) {
			k := &scriptedISCSI{connected: true, busy: &kernel.Error{Function: "GetDevicesForIScsiSessionW", Code: code}}
			_, err := k.iscsi(t).GetTargetDisks(scriptedTarget)
			wantError(t, err, class, strings.TrimPrefix(code.Name(), "ERROR_"))
			if !enough(k.queries) {
				t.Errorf("%v: %d queries", code, k.queries)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		k := &scriptedISCSI{connected: true, logoutErr: &kernel.Error{Function: "LogoutIScsiTarget",
			Code: win32.ISDSC_DEVICE_BUSY_ON_SESSION}}
		err := k.iscsi(t).DisconnectTarget(scriptedTarget)
		wantError(t, err, errdefs.FailedPrecondition, reason.TargetInUse)
		if !errdefs.HasCode(err, win32.ISDSC_DEVICE_BUSY_ON_SESSION) || !enough(k.logouts) {
			t.Errorf("%d logouts, %v", k.logouts, err)
		}
	})
}

func TestIsDriveRoot(t *testing.T) {
	for path, want := range map[string]bool{
		`E:\`: true, `e:\`: true, `E:\data\`: false, `E:`: false, ``: false,
		`\\?\Volume{15be7061-289d-4c9e-9186-486e0fca2a77}\`: false,
	} {
		if got := isDriveRoot(path); got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	}
}

func TestReconnectingSession(t *testing.T) {
	k := &scriptedISCSI{reconnecting: true,
		err: &kernel.Error{Function: "LoginIScsiTargetW", Code: win32.ISDSC_TARGET_ALREADY_LOGGED_IN}}
	err := k.iscsi(t).ConnectTarget(scriptedTarget)
	wantError(t, err, errdefs.Unavailable, reason.Reconnecting)
}

// TestLoginsAreJoinedBySecret: identical logins at the same time are joined; another secret makes a separate call.
func TestLoginsAreJoinedBySecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		k := &scriptedISCSI{
			during: func() { <-proceed },
			err:    &kernel.Error{Function: "LoginIScsiTargetW", Code: win32.ISDSC_AUTHENTICATION_FAILURE},
		}
		s := k.iscsi(t)
		results := make(chan error)
		secrets := []string{"wrong-secret", "wrong-secret", "other-secret"}
		for _, secret := range secrets {
			go func() {
				results <- s.ConnectTargetAs(scriptedTarget, api.AuthenticationType_ONE_WAY_CHAP, "user", secret)
			}()
			synctest.Wait()
		}
		close(proceed)
		for range secrets {
			wantError(t, <-results, errdefs.Unauthenticated, "ISDSC_AUTHENTICATION_FAILURE")
		}
		synctest.Wait()
		if diff := cmp.Diff(k.secrets, []string{"wrong-secret", "other-secret"}); diff != "" {
			t.Errorf("logins (-got +want):\n%s", diff)
		}
	})
}

// toldISCSI is an initiator service with one target, which answers at one address, and two portals.
type toldISCSI struct {
	kernel.Kernel
	answers    string
	mechanisms []string
	err        error
}

func (toldISCSI) ReportISCSISendTargetPortals() (portals []byte, count int, err error) {
	for _, address := range []string{"array.example", "192.0.2.1", "192.0.2.2"} {
		portals = append(portals, deviceside.ISCSITargetPortalInfo(win32.ISCSITargetPortalInfo{
			Portal: win32.ISCSITargetPortal{Address: address, Socket: 3260}})...)
		count++
	}
	return portals, count, nil
}

func (toldISCSI) RefreshISCSISendTargetPortal(string, uint32, []byte) error { return nil }

func (toldISCSI) ReportISCSITargets() ([]string, error) { return []string{scriptedTarget}, nil }

func (k toldISCSI) ReportISCSITargetPortals(string) (portals []byte, count int, err error) {
	return win32.ISCSITargetPortal{Address: k.answers, Socket: 3260}.Bytes(), 1, nil
}

func (k toldISCSI) ISCSIDiscoveryMechanisms(string) ([]string, error) { return k.mechanisms, k.err }

// The mechanism that Windows reports for a target decides whether the portal named it. A mechanism that cannot be read
// counts as naming it.
func TestDiscoveryMechanisms(t *testing.T) {
	from := func(address string) string { return "SendTargets:*" + address + ` 0003260 ROOT\ISCSIPRT\0000_0` }
	const inside = "10.0.0.7"
	for name, test := range map[string]struct {
		portal, answers string
		mechanisms      []string
		err             error
		want            bool
	}{
		"at the portal":                   {"192.0.2.1", "192.0.2.1", nil, win32.ISDSC_TARGET_ERROR, true},
		"named by it":                     {"192.0.2.1", inside, []string{from("192.0.2.2"), from("192.0.2.1")}, nil, true},
		"named by it, as it is written":   {"array.example", inside, []string{from("ARRAY.example")}, nil, true},
		"named by another":                {"192.0.2.1", inside, []string{from("192.0.2.2")}, nil, false},
		"named by another port":           {"192.0.2.1", inside, []string{"SendTargets:*192.0.2.1 0003261 x"}, nil, false},
		"from other sources":              {"192.0.2.1", inside, []string{"iSNS:192.0.2.9", "HBA:x"}, nil, false},
		"named by an address, not a name": {"array.example", inside, []string{from("192.0.2.7")}, nil, true},
		"named by a name, not an address": {"192.0.2.1", inside, []string{from("array.example")}, nil, false},
		"the same, and it is another's":   {"array.example", "192.0.2.2", []string{from("192.0.2.2")}, nil, false},
		"another text":                    {"192.0.2.1", inside, []string{"SendTargets"}, nil, true},
		"no text":                         {"192.0.2.1", inside, nil, nil, true},
		"a failure":                       {"192.0.2.1", inside, nil, win32.ERROR_CALL_NOT_IMPLEMENTED, true},
		"a failure, at another portal":    {"192.0.2.1", "192.0.2.2", nil, win32.ERROR_CALL_NOT_IMPLEMENTED, false},
		"gone":                            {"192.0.2.1", inside, nil, win32.ISDSC_TARGET_NOT_FOUND, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := bare(t, toldISCSI{answers: test.answers, mechanisms: test.mechanisms, err: test.err})
			names, err := by(t.Context(), n).DiscoverTargetPortal(test.portal)
			if err != nil || (len(names) == 1) != test.want {
				t.Errorf("got %v, %v, want found %v", names, err, test.want)
			}
		})
	}
}
