// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	iscsi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// The storage system of the default scenario.
const (
	arrayAddress = "192.0.2.10"
	openTarget   = "iqn.2026-01.emulated:open"
	chapTarget   = "iqn.2026-01.emulated:chap"
	mutualTarget = "iqn.2026-01.emulated:mutual"
	chapUser     = "csi-user"
	chapSecret   = "chap-secret-123"
	mutualSecret = "mutual-secret1"
)

func arrayPortal() *iscsi.TargetPortal { return &iscsi.TargetPortal{TargetAddress: arrayAddress} }

// discovered registers the portal and returns the targets found there.
func discovered(t *testing.T, n *testnode.Node) []string {
	t.Helper()
	_, err := n.ISCSI.AddTargetPortal(t.Context(), &iscsi.AddTargetPortalRequest{TargetPortal: arrayPortal()})
	noError(t, err)
	reply, err := n.ISCSI.DiscoverTargetPortal(t.Context(),
		&iscsi.DiscoverTargetPortalRequest{TargetPortal: arrayPortal()})
	noError(t, err)
	return reply.GetIqns()
}

func login(t *testing.T, n *testnode.Node, iqn string, auth iscsi.AuthenticationType, user, secret string) error {
	t.Helper()
	_, err := n.ISCSI.ConnectTarget(t.Context(), &iscsi.ConnectTargetRequest{
		TargetPortal: arrayPortal(), Iqn: iqn, AuthType: auth, ChapUsername: user, ChapSecret: secret,
	})
	return err
}

func logout(t *testing.T, n *testnode.Node, iqn string) error {
	t.Helper()
	_, err := n.ISCSI.DisconnectTarget(t.Context(), &iscsi.DisconnectTargetRequest{TargetPortal: arrayPortal(), Iqn: iqn})
	return err
}

func targetDisks(t *testing.T, n *testnode.Node, iqn string) []string {
	t.Helper()
	reply, err := n.ISCSI.GetTargetDisks(t.Context(), &iscsi.GetTargetDisksRequest{TargetPortal: arrayPortal(), Iqn: iqn})
	noError(t, err)
	return reply.GetDiskIDs()
}

// connected logs in to the open target, whose disk is number 3.
func connected(t *testing.T, n *testnode.Node) {
	t.Helper()
	discovered(t, n)
	noError(t, login(t, n, openTarget, iscsi.AuthenticationType_NONE, "", ""))
	if diff := cmp.Diff(targetDisks(t, n, openTarget), []string{"3"}); diff != "" {
		t.Fatalf("disks (-got +want):\n%s", diff)
	}
}

func setMutual(t *testing.T, n *testnode.Node, secret string) error {
	t.Helper()
	_, err := n.ISCSI.SetMutualChapSecret(t.Context(), &iscsi.SetMutualChapSecretRequest{MutualChapSecret: secret})
	return err
}

func portals(t *testing.T, n *testnode.Node) (texts []string) {
	t.Helper()
	reply, err := n.ISCSI.ListTargetPortals(t.Context(), &iscsi.ListTargetPortalsRequest{})
	noError(t, err)
	for _, p := range reply.GetTargetPortals() {
		texts = append(texts, p.GetTargetAddress())
		if p.GetTargetPort() != 3260 {
			t.Errorf("port %d, want 3260", p.GetTargetPort())
		}
	}
	return texts
}

func TestISCSIPortals(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	discover := func() (*iscsi.DiscoverTargetPortalResponse, error) {
		return n.ISCSI.DiscoverTargetPortal(t.Context(), &iscsi.DiscoverTargetPortalRequest{TargetPortal: arrayPortal()})
	}
	remove := func() error {
		_, err := n.ISCSI.RemoveTargetPortal(t.Context(), &iscsi.RemoveTargetPortalRequest{TargetPortal: arrayPortal()})
		return err
	}
	_, err := discover()
	wantCode(t, err, codes.NotFound)
	noError(t, remove()) // not registered: success

	want := []string{chapTarget, mutualTarget, openTarget}
	for range 2 {
		if diff := cmp.Diff(discovered(t, n), want); diff != "" {
			t.Errorf("targets (-got +want):\n%s", diff)
		}
		if diff := cmp.Diff(portals(t, n), []string{arrayAddress}); diff != "" {
			t.Errorf("portals (-got +want):\n%s", diff)
		}
	}
	n.Reboot()
	if diff := cmp.Diff(portals(t, n), []string{arrayAddress}); diff != "" {
		t.Errorf("portals after a reboot (-got +want):\n%s", diff)
	}
	noError(t, remove())
	noError(t, remove())
	if got := portals(t, n); len(got) != 0 {
		t.Errorf("portals after the removal: %v", got)
	}
	wantCode(t, login(t, n, openTarget, 0, "", ""), codes.NotFound)
}

// A portal that is registered by its DNS name, or behind a NAT, names targets that answer at another address. They are
// found, and those of other portals are not.
func TestISCSIAdvertisedAddress(t *testing.T) {
	const inside = "iqn.2026-01.emulated:inside"
	for _, address := range []string{"array.example", "198.51.100.1"} {
		t.Run(address, func(t *testing.T) {
			s := emulated.DefaultScenario()
			array := emulated.ISCSIPortalSpec{Advertises: "10.0.0.7", Targets: []emulated.ISCSITargetSpec{{Name: inside}}}
			array.At.Address, array.At.Port = address, 3260
			s.ISCSI = append(s.ISCSI, array)
			n := testnode.Start(t, testnode.Options{Emulated: emulated.Options{Scenario: &s}})
			portal := &iscsi.TargetPortal{TargetAddress: address}
			_, err := n.ISCSI.AddTargetPortal(t.Context(), &iscsi.AddTargetPortalRequest{TargetPortal: portal})
			noError(t, err)
			found := func(want ...string) {
				t.Helper()
				reply, err := n.ISCSI.DiscoverTargetPortal(t.Context(), &iscsi.DiscoverTargetPortalRequest{TargetPortal: portal})
				noError(t, err)
				if diff := cmp.Diff(reply.GetIqns(), want); diff != "" {
					t.Errorf("targets (-got +want):\n%s", diff)
				}
			}
			all := []string{chapTarget, mutualTarget, openTarget}
			if diff := cmp.Diff(discovered(t, n), all); diff != "" {
				t.Errorf("targets of the other portal (-got +want):\n%s", diff)
			}
			found(inside)
			_, err = n.ISCSI.ConnectTarget(t.Context(), &iscsi.ConnectTargetRequest{TargetPortal: portal, Iqn: inside})
			noError(t, err)

			// If Windows does not tell, targets count as found that answer at no registered portal.
			n.Faults.Add(testnode.Fault{Function: "ISCSIDiscoveryMechanisms", Error: win32.ERROR_CALL_NOT_IMPLEMENTED})
			found(inside)
			if diff := cmp.Diff(discovered(t, n), []string{chapTarget, inside, mutualTarget, openTarget}); diff != "" {
				t.Errorf("targets of the other portal (-got +want):\n%s", diff)
			}
		})
	}
}

func TestISCSIUnreachablePortal(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	for _, p := range []*iscsi.TargetPortal{
		{TargetAddress: "192.0.2.11"}, {TargetAddress: arrayAddress, TargetPort: 3261}, {TargetAddress: "array.example"},
		{TargetAddress: "2001:db8::1"},
	} {
		_, err := n.ISCSI.AddTargetPortal(t.Context(), &iscsi.AddTargetPortalRequest{TargetPortal: p})
		wantCode(t, err, codes.Unavailable)
	}
	discovered(t, n)
	n.Faults.Add(testnode.Fault{Function: "RefreshISCSISendTargetPortal", Times: 1, Error: win32.ISDSC_CONNECTION_FAILED})
	_, err := n.ISCSI.DiscoverTargetPortal(t.Context(), &iscsi.DiscoverTargetPortalRequest{TargetPortal: arrayPortal()})
	wantCode(t, err, codes.Unavailable)
}

func TestISCSIAuthentication(t *testing.T) {
	t.Parallel()
	const none, chap, mutual = iscsi.AuthenticationType_NONE, iscsi.AuthenticationType_ONE_WAY_CHAP,
		iscsi.AuthenticationType_MUTUAL_CHAP
	for _, test := range []struct {
		name   string
		set    string // mutual secret of the node
		target string
		auth   iscsi.AuthenticationType
		user   string
		secret string
		want   codes.Code
	}{
		{"open", "", openTarget, none, "", "", codes.OK},
		{"open, other fields are not looked at", "", openTarget, none, "\x00", "short", codes.OK},
		{"CHAP for an open target", "", openTarget, chap, chapUser, chapSecret, codes.OK},
		{"mutual CHAP for an open target", "", openTarget, mutual, chapUser, chapSecret, codes.OK},
		{"no CHAP", "", chapTarget, none, chapUser, chapSecret, codes.Unauthenticated},
		{"CHAP", "", chapTarget, chap, chapUser, chapSecret, codes.OK},
		{"wrong secret", "", chapTarget, chap, chapUser, "chap-secret-124", codes.Unauthenticated},
		{"wrong user", "", chapTarget, chap, "root", chapSecret, codes.Unauthenticated},
		{"user left out", "", chapTarget, chap, "", chapSecret, codes.Unauthenticated},
		{"mutual, target without secret", mutualSecret, chapTarget, mutual, chapUser, chapSecret, codes.Unauthenticated},
		{"mutual", mutualSecret, mutualTarget, mutual, chapUser, chapSecret, codes.OK},
		{"mutual, not set", "", mutualTarget, mutual, chapUser, chapSecret, codes.Unauthenticated},
		{"mutual, another set", "mutual-secret2", mutualTarget, mutual, chapUser, chapSecret, codes.Unauthenticated},
		{"one way for a target that can do both", "", mutualTarget, chap, chapUser, chapSecret, codes.OK},
		{"short secret", "", chapTarget, chap, chapUser, "eleven-byte", codes.InvalidArgument},
		{"long secret", "", chapTarget, chap, chapUser, "seventeen-bytes-1", codes.InvalidArgument},
		{"no secret", "", chapTarget, mutual, chapUser, "", codes.InvalidArgument},
		{"control character in the user name", "", chapTarget, chap, "csi\n", chapSecret, codes.InvalidArgument},
		{"long user name", "", chapTarget, chap, strings.Repeat("u", 256), chapSecret, codes.InvalidArgument},
		{"unknown type", "", openTarget, 3, chapUser, chapSecret, codes.InvalidArgument},
		{"negative type", "", openTarget, -1, chapUser, chapSecret, codes.InvalidArgument},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n := testnode.Start(t, testnode.Options{})
			discovered(t, n)
			if test.set != "" {
				noError(t, setMutual(t, n, test.set))
			}
			err := login(t, n, test.target, test.auth, test.user, test.secret)
			wantCode(t, err, test.want)
			for _, secret := range []string{chapSecret, mutualSecret, test.secret, test.set} {
				if err != nil && secret != "" && strings.Contains(err.Error(), secret) {
					t.Errorf("the error shows a secret: %v", err)
				}
			}
			disks := targetDisks(t, n, test.target)
			if got, want := len(disks), 0; test.want != codes.OK && got != want {
				t.Errorf("%d disks after a login that failed", got)
			} else if test.want == codes.OK && got != 1 {
				t.Errorf("disks: %v", disks)
			}
		})
	}
}

func TestISCSIMutualSecret(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	for secret, want := range map[string]codes.Code{
		"": codes.InvalidArgument, "eleven-byte": codes.InvalidArgument, "seventeen-bytes-1": codes.InvalidArgument,
		"twelve-bytes": codes.OK, "sixteen-bytes-16": codes.OK,
	} {
		wantCode(t, setMutual(t, n, secret), want)
	}
	noError(t, setMutual(t, n, mutualSecret))
	noError(t, setMutual(t, n, mutualSecret))
	n.Reboot() // the secret stays
	discovered(t, n)
	noError(t, login(t, n, mutualTarget, iscsi.AuthenticationType_MUTUAL_CHAP, chapUser, chapSecret))
}

func TestISCSIConnectIsIdempotent(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	wantCode(t, login(t, n, openTarget, 0, "", ""), codes.NotFound) // before the discovery
	discovered(t, n)
	if got := targetDisks(t, n, openTarget); len(got) != 0 {
		t.Errorf("disks without a session: %v", got)
	}
	noError(t, logout(t, n, openTarget)) // not connected: success
	noError(t, login(t, n, chapTarget, iscsi.AuthenticationType_ONE_WAY_CHAP, chapUser, chapSecret))
	noError(t, login(t, n, strings.ToUpper(chapTarget), iscsi.AuthenticationType_ONE_WAY_CHAP, chapUser, "another-secret"))
	if diff := cmp.Diff(targetDisks(t, n, chapTarget), []string{"3"}); diff != "" {
		t.Errorf("disks (-got +want):\n%s", diff)
	}
	noError(t, logout(t, n, strings.ToUpper(chapTarget)))
	noError(t, logout(t, n, chapTarget))
	if got := targetDisks(t, n, chapTarget); len(got) != 0 {
		t.Errorf("disks after the logout: %v", got)
	}
	wantCode(t, login(t, n, "iqn.2026-01.emulated:other", 0, "", ""), codes.NotFound)
}

func TestISCSIDisk(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	connected(t, n)
	got := n.Tree().GetDisks()[3]
	if got.GetBusType() != "iSCSI" || got.GetOnline() || !got.GetReadOnly() || got.GetSizeBytes() != 5<<30 ||
		got.GetStyle() != "RAW" {
		t.Errorf("the new disk is %v", got)
	}
	locations, err := n.Disk.ListDiskLocations(t.Context(), &disk.ListDiskLocationsRequest{})
	noError(t, err)
	if l := locations.GetDiskLocations()[3]; l.GetAdapter() != "2" || l.GetLUNID() != "0" {
		t.Errorf("location %v", l)
	}

	// The whole life of a volume on the disk, twice: its content survives the session.
	for _, content := range []string{"", "data"} {
		if content != "" { // a disk with partitions is left as it comes
			_, err := n.Disk.SetDiskState(t.Context(), &disk.SetDiskStateRequest{DiskNumber: 3, IsOnline: true})
			noError(t, err)
		}
		var id string
		if content == "" {
			id = mounted(t, n, 3)
		} else {
			volumes, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: 3})
			noError(t, err)
			id = volumes.GetVolumeIds()[0]
			noError(t, mount(t, n, id, staging))
			if got := n.ReadFile(staging + `\file`); got != content {
				t.Errorf("the file holds %q, want %q", got, content)
			}
		}
		n.WriteFile(staging+`\file`, "data")
		wantCode(t, logout(t, n, openTarget), codes.FailedPrecondition)
		if got := targetDisks(t, n, openTarget); len(got) != 1 {
			t.Errorf("disks after a logout that was refused: %v", got)
		}
		_, err = n.Volume.UnmountVolume(t.Context(), &volume.UnmountVolumeRequest{VolumeId: id, TargetPath: staging})
		noError(t, err)
		n.Faults.Calls()
		noError(t, logout(t, n, openTarget))
		flushed := slices.IndexFunc(n.Faults.Calls(), func(c kernel.Call) bool { return c.Function == "Flush" })
		if flushed < 0 {
			t.Error("the volume was not flushed before the logout")
		}
		if _, err := n.Disk.GetDiskStats(t.Context(), &disk.GetDiskStatsRequest{DiskNumber: 3}); status.Code(
			err) != codes.NotFound {
			t.Errorf("disk 3 after the logout: %v", err)
		}
		noError(t, login(t, n, openTarget, 0, "", ""))
		targetDisks(t, n, openTarget) // waits for them: the call above was refused because the disk has its number
	}
}

// TestISCSILogoutInOutage: while the initiator shows no disks of a session, the node stays logged in for a volume that
// is mounted.
func TestISCSILogoutInOutage(t *testing.T) {
	t.Parallel()
	n := testnode.Start(t, testnode.Options{})
	connected(t, n)
	id := mounted(t, n, 3)
	n.WriteFile(staging+`\file`, "data")
	cutOff := func() {
		noError(t, n.Emulated.SetISCSIPortal(arrayAddress, 3260, false))
		_, err := n.Emulated.SetClock(emulated.ClockChange{Advance: time.Minute})
		noError(t, err)
	}
	cutOff()
	wantCode(t, logout(t, n, openTarget), codes.Unavailable)
	noError(t, n.Emulated.SetISCSIPortal(arrayAddress, 3260, true))
	if got := n.ReadFile(staging + `\file`); got != "data" {
		t.Errorf("after the outage, the file holds %q", got)
	}
	cutOff()
	_, err := n.Volume.UnmountVolume(t.Context(), &volume.UnmountVolumeRequest{VolumeId: id, TargetPath: staging})
	noError(t, err)
	noError(t, logout(t, n, openTarget))
	noError(t, n.Emulated.SetISCSIPortal(arrayAddress, 3260, true))
	if got := len(n.Tree().GetDisks()); got != 3 {
		t.Errorf("%d disks after a logout in the outage", got)
	}
}

func TestISCSISetDiskState(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	connected(t, n)
	_, err := n.Disk.SetDiskState(t.Context(), &disk.SetDiskStateRequest{DiskNumber: 3, IsOnline: true})
	noError(t, err)
	if got := n.Tree().GetDisks()[3]; !got.GetOnline() || got.GetReadOnly() {
		t.Errorf("the disk is %v", got)
	}
}

func TestISCSISessionsAndReboot(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	connected(t, n)
	mounted(t, n, 3)
	n.WriteFile(staging+`\file`, "data")
	n.Reboot()
	if got := targetDisks(t, n, openTarget); len(got) != 0 {
		t.Errorf("disks after a reboot: %v", got)
	}
	noError(t, login(t, n, openTarget, 0, "", ""))
	_, err := n.Disk.SetDiskState(t.Context(), &disk.SetDiskStateRequest{DiskNumber: 3, IsOnline: true})
	noError(t, err)
	if got := n.ReadFile(staging + `\file`); got != "data" { // the mount point is still there
		t.Errorf("the file holds %q", got)
	}
}

func TestISCSIPersistentLogin(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	discovered(t, n)
	noError(t, n.Emulated.LogInISCSITargetForGood(kernel.ISCSILogin{
		Target: openTarget, Portal: win32.ISCSITargetPortal{Address: arrayAddress, Socket: 3260}.Bytes(),
	}))
	n.Reboot()
	noError(t, login(t, n, openTarget, 0, "", "")) // connected already
	noError(t, logout(t, n, openTarget))
	n.Reboot()
	if got := n.Tree().GetDisks(); len(got) != 3 {
		t.Errorf("%d disks, the persistent login was not forgotten", len(got))
	}
}
