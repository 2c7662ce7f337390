// SPDX-License-Identifier: Apache-2.0

//go:build unix

package published

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

const array = "192.0.2.20"

// twoLUNs returns the scenario of a node with a target of two logical units.
func twoLUNs(t *testing.T) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "scenario.yaml")
	check(t, "writing the scenario", os.WriteFile(file, []byte(`
iscsiPortals:
  - address: `+array+`
    targets:
      - name: iqn.2026-01.emulated:two
        username: csi-user
        secret: chap-secret-123
        mutualSecret: mutual-secret1
        luns: [{lun: 0, size: 1GiB}, {lun: 1, size: 1GiB}]
`), 0o600))
	return file
}

func lun(number uint32) mounter.ISCSIDisk {
	return mounter.ISCSIDisk{Address: array, IQN: "iqn.2026-01.emulated:two", LUN: number}
}

// TestStageISCSI: a driver has one call to stage a disk of a target, from the portal to the mount point, and one back.
// The node stays logged in to a target as long as one of its disks is staged.
func TestStageISCSI(t *testing.T) {
	t.Parallel()
	n := csiproxytest.Start(t, csiproxytest.Options{Scenario: twoLUNs(t)})
	m, ctx := mounter.New(n.Client()), t.Context()
	sessions := func(want int) {
		t.Helper()
		if got := n.Sessions(); len(got) != want {
			t.Errorf("the node has the sessions %v, want %d", got, want)
		}
	}
	n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, Adapter: 7}) // LUN 0 as well
	wantNone(t, n, "before the login, the disk", mounter.ByISCSI(mounter.ISCSIDisk{Address: array, IQN: lun(0).IQN}))
	chap := mounter.CHAP{User: "csi-user", Secret: "wrong-secret-12"}
	if _, err := m.StageISCSI(ctx, lun(0), targetOf("a"), chap, mounter.StageOptions{}); !errors.Is(err,
		csiproxy.ErrCredentials) || strings.Contains(err.Error(), chap.Secret) {
		t.Errorf("a wrong secret: %v, want ErrCredentials", err)
	}
	chap = mounter.CHAP{User: "csi-user", Secret: "chap-secret-123", MutualSecret: "mutual-secret1"}
	if text := fmt.Sprintf("%v %+v %#v", chap, chap, chap); strings.Contains(text, "secret") {
		t.Errorf("the secrets are printed: %s", text)
	}
	var devices []mounter.Device
	for range 2 {
		for number, volume := range []string{"a", "b"} {
			device, err := m.StageISCSI(ctx, lun(uint32(number)), targetOf(volume), chap, mounter.StageOptions{})
			check(t, "staging "+volume, err)
			devices = append(devices, device)
		}
	}
	if devices[0] != devices[2] || devices[1] != devices[3] || devices[0] == devices[1] {
		t.Errorf("staged %+v", devices)
	}
	wantNone(t, n, "another LUN", mounter.ByISCSI(mounter.ISCSIDisk{Address: array, Port: 3260, IQN: lun(0).IQN, LUN: 2}))
	n.WriteFile(targetOf("a")+`\data`, "precious")
	sessions(1)
	for range 2 {
		check(t, "unstaging one", m.UnstageISCSI(ctx, lun(0), targetOf("a")))
		sessions(1)
	}
	for range 2 {
		check(t, "unstaging the last", m.UnstageISCSI(ctx, lun(1), targetOf("b")))
		sessions(0)
	}
	_, err := m.StageISCSI(ctx, lun(0), targetOf("a"), chap, mounter.StageOptions{})
	check(t, "staging again", err)
	if got := n.ReadFile(targetOf("a") + `\data`); got != "precious" {
		t.Errorf("the volume came back with %q", got)
	}
}

// TestUnstageISCSIInOutage: while the initiator tries to reconnect, Windows shows no disk of the session. The session
// ends with the last volume on it all the same, and not before.
func TestUnstageISCSIInOutage(t *testing.T) {
	t.Parallel()
	n := csiproxytest.Start(t, csiproxytest.Options{Scenario: twoLUNs(t)})
	m, ctx, chap := mounter.New(n.Client()), t.Context(), mounter.CHAP{User: "csi-user", Secret: "chap-secret-123"}
	outage := func() {
		n.DisconnectISCSIPortal(array, 0)
		if got := len(n.Facts().GetDisks()); got != 3 {
			t.Errorf("the node has %d disks in the outage", got)
		}
	}
	for number, volume := range []string{"a", "b"} {
		_, err := m.StageISCSI(ctx, lun(uint32(number)), targetOf(volume), chap, mounter.StageOptions{})
		check(t, "staging "+volume, err)
	}
	n.WriteFile(targetOf("b")+`\data`, "precious")
	outage()
	for range 2 {
		if err := m.UnstageISCSI(ctx, lun(0), targetOf("a")); status.Code(err) != codes.Unavailable ||
			!strings.Contains(err.Error(), targetOf("b")) {
			t.Errorf("unstaging one in an outage: %v, want UNAVAILABLE and the other's path", err)
		}
	}
	n.ConnectISCSIPortal(array, 0)
	if got := n.ReadFile(targetOf("b") + `\data`); got != "precious" {
		t.Errorf("the volume came back with %q", got)
	}
	check(t, "unstaging one", m.UnstageISCSI(ctx, lun(0), targetOf("a")))
	if got := len(n.Sessions()); got != 1 {
		t.Errorf("the node has %d sessions after the outage, and a volume uses one", got)
	}
	outage()
	check(t, "unstaging the last in an outage", m.UnstageISCSI(ctx, lun(1), targetOf("b")))
	n.ConnectISCSIPortal(array, 0)
	if got := n.Sessions(); len(got) != 0 {
		t.Errorf("the sessions %v are left", got)
	}
}
