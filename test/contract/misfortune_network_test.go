// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

// mounts is the directory of the SMB driver's links to its shares.
const mounts = csiproxytest.KubeletDir + `\plugins\`

// mapOneShare does what an SMB driver does when a volume is staged.
func mapOneShare(ctx context.Context, n *csiproxytest.Node, share, user, password string) error {
	_, err := n.SMB.NewSmbGlobalMapping(ctx, &smbapi.NewSmbGlobalMappingRequest{
		RemotePath: `\\fs.emulated\` + share, LocalPath: mounts + share, Username: user, Password: password,
	})
	return err
}

// The password changes. The driver with the old one is refused, the driver with the new one goes on, and the files
// are the same.
func TestPasswordRotation(t *testing.T) {
	node := csiproxytest.Start(t, csiproxytest.Options{})
	if err := mapOneShare(t.Context(), node, "share", "csi", "csi-password"); err != nil {
		t.Fatal(err)
	}
	node.WriteFile(mounts+`share\data`, "kept")
	node.SetSMBPassword("csi", "rotated")
	wantOutcome(t, "the old password",
		mapOneShare(t.Context(), node, "share", "csi", "csi-password"), codes.Unauthenticated)
	if err := mapOneShare(t.Context(), node, "share", "csi", "rotated"); err != nil {
		t.Fatalf("the new password: %v", err)
	}
	if got := node.ReadFile(mounts + `share\data`); got != "kept" {
		t.Errorf("got %q", got)
	}
}

// Accounts and shares come and go.
func TestAccountsAndShares(t *testing.T) {
	node := csiproxytest.Start(t, csiproxytest.Options{})
	wantOutcome(t, "no such share", mapOneShare(t.Context(), node, "backup", "csi", "csi-password"), codes.NotFound)
	node.AddSMBUser("alice", "alice-password", "CORP")
	node.AddSMBShare("fs.emulated", "backup", "alice")
	wantOutcome(t, "another account", mapOneShare(t.Context(), node, "backup", "csi", "csi-password"),
		codes.PermissionDenied)
	if err := mapOneShare(t.Context(), node, "backup", `CORP\alice`, "alice-password"); err != nil {
		t.Fatal(err)
	}
	node.WriteFile(mounts+`backup\data`, "kept")
	node.DropSMBSessions("fs.emulated")
	if err := mapOneShare(t.Context(), node, "backup", `CORP\alice`, "alice-password"); err != nil {
		t.Errorf("after its session was dropped: %v", err)
	}
	node.RemoveSMBShare("fs.emulated", "backup")
	wantOutcome(t, "a share that went", mapOneShare(t.Context(), node, "backup", `CORP\alice`, "alice-password"),
		codes.NotFound)
	node.AddSMBShare("fs.emulated", "backup")
	node.RemoveSMBUser("alice")
	wantOutcome(t, "an account that went", mapOneShare(t.Context(), node, "backup", `CORP\alice`, "alice-password"),
		codes.Unauthenticated)
}

// Mappings do not survive a reboot, or not with their credentials; the next try maps again.
func TestRebootOfMapping(t *testing.T) {
	node := csiproxytest.Start(t, csiproxytest.Options{})
	for _, stay := range []string{"true", "false", "true"} {
		node.SetSwitch("mappingsOutliveReboot", stay)
		if err := mapOneShare(t.Context(), node, "share", "csi", "csi-password"); err != nil {
			t.Fatal(err)
		}
		node.WriteFile(mounts+`share\data`, "there")
		node.Reboot()
		node.Reconnect()
	}
}

const (
	portalAddress = "192.0.2.10"
	iqn           = "iqn.2026-01.emulated:open"
)

func portal() *iscsiapi.TargetPortal {
	return &iscsiapi.TargetPortal{TargetAddress: portalAddress, TargetPort: 3260}
}

// logIn does what an iSCSI driver does when a volume is staged. It returns the disks.
func logIn(ctx context.Context, n *csiproxytest.Node) ([]string, error) {
	if _, err := n.ISCSI.AddTargetPortal(ctx, &iscsiapi.AddTargetPortalRequest{TargetPortal: portal()}); err != nil {
		return nil, err
	}
	if _, err := n.ISCSI.DiscoverTargetPortal(ctx,
		&iscsiapi.DiscoverTargetPortalRequest{TargetPortal: portal()}); err != nil {
		return nil, err
	}
	if _, err := n.ISCSI.ConnectTarget(ctx, &iscsiapi.ConnectTargetRequest{TargetPortal: portal(), Iqn: iqn}); err != nil {
		return nil, err
	}
	disks, err := n.ISCSI.GetTargetDisks(ctx, &iscsiapi.GetTargetDisksRequest{TargetPortal: portal(), Iqn: iqn})
	return disks.GetDiskIDs(), err
}

func wantDisks(t *testing.T, what string, n *csiproxytest.Node, want int) {
	t.Helper()
	if disks, err := logIn(t.Context(), n); err != nil || len(disks) != want {
		t.Errorf("%s: got %v, %v", what, disks, err)
	}
}

// The storage network fails for longer than the initiator waits: the disk goes and comes back with the network.
func TestISCSIPortalOutage(t *testing.T) {
	node := csiproxytest.Start(t, csiproxytest.Options{})
	node.StopClock()
	wantDisks(t, "at first", node, 1)
	before := len(node.Tree().GetDisks())
	node.DisconnectISCSIPortal(portalAddress, 0)
	_, err := logIn(t.Context(), node)
	wantOutcome(t, "without a portal", err, codes.Unavailable)
	if got := len(node.Tree().GetDisks()); got != before {
		t.Errorf("the node has %d disks at once, it had %d", got, before)
	}
	node.AdvanceClock(time.Minute)
	if got := len(node.Tree().GetDisks()); got != before-1 {
		t.Errorf("the node has %d disks after a minute, it had %d", got, before)
	}
	node.ConnectISCSIPortal(portalAddress, 0)
	wantDisks(t, "connected again", node, 1)
}

// The target ends the session; the next try establishes it again.
func TestISCSISessionDropped(t *testing.T) {
	node := csiproxytest.Start(t, csiproxytest.Options{})
	wantDisks(t, "at first", node, 1)
	node.DropISCSISession(iqn)
	wantDisks(t, "after it was dropped", node, 1)
}

// The initiator's service stops behind the driver's back, and takes its time to start again.
func TestServiceStoppedAndSlow(t *testing.T) {
	node := csiproxytest.Start(t, csiproxytest.Options{})
	node.StopClock()
	node.SetServiceState("MSiSCSI", csiproxytest.ServiceStopped)
	_, err := logIn(t.Context(), node)
	wantOutcome(t, "without the service", err, codes.FailedPrecondition)

	node.SetServicePendingTime("MSiSCSI", time.Minute)
	starting := background(func() error {
		_, err := node.System.StartService(t.Context(), &systemapi.StartServiceRequest{Name: "MSiSCSI"})
		return err
	})
	for state := systemapi.ServiceStatus_STOPPED; state != systemapi.ServiceStatus_START_PENDING; {
		s, err := node.System.GetService(t.Context(), &systemapi.GetServiceRequest{Name: "MSiSCSI"})
		if err != nil {
			t.Fatal(err)
		}
		state = s.GetStatus()
	}
	node.AdvanceClock(time.Minute)
	if err := <-starting; err != nil {
		t.Errorf("starting: %v", err)
	}
	wantDisks(t, "with the service", node, 1)

	node.SetServiceStart("MSiSCSI", csiproxytest.StartDisabled)
	node.StartClock()
	node.Reboot()
	node.Reconnect()
	_, err = logIn(t.Context(), node)
	wantOutcome(t, "a service that does not start with the node", err, codes.FailedPrecondition)
	if now := node.Now(); now.IsZero() {
		t.Error("the node has no time")
	}
	node.SetClock(time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC))
	if year := node.Now().Year(); year != 2031 {
		t.Errorf("got the year %d", year)
	}
}
