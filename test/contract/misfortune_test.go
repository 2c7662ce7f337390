// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	diskbeta "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta3"
	oldclient "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1beta3"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

const gib = 1 << 30

// stager is the part of a CSI driver that stages the volume of a disk, which it knows by its serial number. Misfortune
// meets it by what csiproxytest offers the authors of drivers.
type stager struct {
	*caller.Node
	t      *testing.T
	number uint32
}

const serial = "vol-1"

func startStager(t *testing.T) stager {
	t.Helper()
	n := caller.Start(t, testnode.Options{})
	return stager{n, t, n.AttachDisk(csiproxytest.Disk{SizeBytes: gib, SerialNumber: serial})}
}

func (s stager) stage(ctx context.Context) error { return stage(s.Within(ctx), serial, staging) }

// stage is NodeStageVolume of a driver that knows its disks by their serial numbers. It may be called again after it
// failed at any point.
func stage(c *caller.Calls, serial, target string) error {
	if err := c.Rescan(); err != nil {
		return err
	}
	ids, err := c.ListDiskIDs()
	if err != nil {
		return err
	}
	for number, id := range ids {
		if id.GetSerialNumber() != serial {
			continue
		}
		if err := c.PartitionDisk(number); err != nil {
			return err
		}
		if err := c.SetDiskState(number, true); err != nil {
			return err
		}
		volumes, err := c.ListVolumesOnDisk(number)
		if err != nil {
			return err
		}
		is, err := c.IsVolumeFormatted(volumes[0])
		if err == nil && !is {
			err = c.FormatVolume(volumes[0])
		}
		if err != nil {
			return err
		}
		return c.MountVolume(volumes[0], target)
	}
	return status.Errorf(codes.NotFound, "disk %s is not attached", serial)
}

// background stages as kubelet does, while it does other things, and waits until the call hangs.
func (s stager) background(ctx context.Context, reached <-chan struct{}) <-chan error {
	s.t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.stage(ctx) }()
	select {
	case <-reached:
	case err := <-done:
		s.t.Fatalf("the call ended before it hung: %v", err)
	}
	return done
}

// recovers stages the volume, which is whole and keeps what is written.
func (s stager) recovers() {
	s.t.Helper()
	for i := range 2 {
		s.OK(s.stage(s.t.Context()))
		if i == 0 {
			s.WriteFile(staging+`\data`, "new")
		}
	}
	s.Holds(staging+`\data`, "new")
}

// An API call fails, or its connection is lost, before it took effect or with its answer: the next try succeeds.
func TestRPCMisfortune(t *testing.T) {
	for _, step := range []csiproxytest.Calls{{Method: "disk/PartitionDisk", Times: 1},
		{Method: "volume/FormatVolume", Times: 1}, {Method: "volume/v2alpha1/MountVolume", Times: 1}} {
		for name, inject := range map[string]func(stager) codes.Code{
			"fails": func(s stager) codes.Code {
				s.FailRPC(step, codes.ResourceExhausted, "try later")
				return codes.ResourceExhausted
			},
			"fails afterwards": func(s stager) codes.Code {
				s.FailRPCAfter(step, codes.ResourceExhausted, "try later")
				return codes.ResourceExhausted
			},
			"cut":            func(s stager) codes.Code { s.Cut(step); return codes.Unavailable },
			"cut afterwards": func(s stager) codes.Code { s.CutAfter(step); return codes.Unavailable },
		} {
			t.Run(step.Method+" "+name, func(t *testing.T) {
				s := startStager(t)
				code := inject(s)
				s.Code(s.stage(t.Context()), code)
				// The journal has the kernel calls of a call whose answer was lost.
				made := len(s.Find(csiproxytest.Query{Method: step.Method})) > 1
				if afterwards := name == "fails afterwards" || name == "cut afterwards"; made != afterwards {
					t.Errorf("made: %t", made)
				}
				s.recovers()
			})
		}
	}
	t.Run("one version alone", func(t *testing.T) {
		s := startStager(t)
		s.FailRPC(csiproxytest.Calls{Method: "disk/v1beta3"}, codes.Internal, "broken")
		_, err := csiproxytest.Client(t, s.Node.Node.Node, oldclient.NewClientWithPipePath).ListDiskIDs(t.Context(),
			&diskbeta.ListDiskIDsRequest{})
		s.Code(err, codes.Internal)
		s.recovers()
	})
	t.Run("slow", func(t *testing.T) {
		s := startStager(t)
		s.Delay(csiproxytest.Calls{Method: "*"}, 0, 5*time.Millisecond)
		s.recovers()
	})
}

// A call hangs, and the driver gives up, the disk is pulled or the node reboots. A driver's next try joins a call that
// still runs, or finds the disk as it was left.
func TestHangingStage(t *testing.T) {
	for _, step := range []csiproxytest.Calls{{Method: "volume/MountVolume", Times: 1},
		{Function: "DeviceIoControl", ControlCode: "IOCTL_DISK_CREATE_DISK", Times: 1},
		{Function: "FormatVolume", Times: 1}, {Function: "SetVolumeMountPoint", Times: 1}} {
		for name, happens := range map[string]func(s stager, running <-chan error, giveUp, release func()){
			"given up": func(s stager, running <-chan error, giveUp, release func()) {
				giveUp()
				s.Code(<-running, codes.Canceled)
				again := make(chan error, 1)
				go func() { again <- s.stage(t.Context()) }()
				release()
				s.OK(<-again)
				if formats := s.Find(csiproxytest.Query{Function: "FormatVolume"}); len(formats) != 1 {
					s.t.Errorf("formatted %d times", len(formats))
				}
			},
			"pulled": func(s stager, running <-chan error, _, release func()) {
				image := s.DetachDisk(s.number)
				release()
				if err := <-running; err == nil {
					s.t.Error("staging a disk that was pulled succeeded")
				}
				s.Code(s.stage(s.t.Context()), codes.NotFound)
				s.AttachDisk(csiproxytest.Disk{SizeBytes: gib, SerialNumber: "another"})
				if again := s.AttachDisk(csiproxytest.Disk{ImagePath: image, SerialNumber: serial}); again == s.number {
					s.t.Fatal("the disk has its old number")
				}
			},
			"rebooted": func(s stager, running <-chan error, _, _ func()) {
				s.Reboot()
				s.Code(<-running, codes.Unavailable)
			},
		} {
			t.Run(step.Method+step.Function+step.ControlCode+" "+name, func(t *testing.T) {
				s := startStager(t)
				reached, release := s.Hang(step)
				ctx, giveUp := context.WithCancel(t.Context())
				defer giveUp()
				happens(s, s.background(ctx, reached), giveUp, release)
				s.recovers()
				s.Reboot()
				s.Holds(staging+`\data`, "new")
			})
		}
	}
}

// Accounts and shares come and go.
func TestAccountsAndShares(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	backup := func(user, password string) error {
		return n.NewSmbGlobalMapping(`\\fs.emulated\backup`, podsPath+`\backup`, user, password)
	}
	n.Refused(backup("csi", "csi-password"), codes.NotFound, "BAD_NET_NAME")
	n.AddSMBUser("alice", "alice-password", "CORP")
	n.AddSMBShare("fs.emulated", "backup", "alice")
	n.Code(backup("csi", "csi-password"), codes.PermissionDenied)
	n.OK(backup(`CORP\alice`, "alice-password"))
	n.DropSMBSessions("fs.emulated")
	n.OK(backup(`CORP\alice`, "alice-password"))
	n.RemoveSMBShare("fs.emulated", "backup")
	n.Code(backup(`CORP\alice`, "alice-password"), codes.NotFound)
	n.AddSMBShare("fs.emulated", "backup")
	n.RemoveSMBUser("alice")
	n.Code(backup(`CORP\alice`, "alice-password"), codes.Unauthenticated)
}

// The target ends the session, or the initiator's service stops behind the driver's back.
func TestInitiatorMisfortune(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	connects := func() {
		t.Helper()
		if disks := n.Connected(); !slices.Equal(disks, []string{"3"}) {
			t.Errorf("the disks are %q", disks)
		}
	}
	connects()
	n.DropISCSISession(openTarget)
	connects()

	n.SetServiceState("MSiSCSI", csiproxytest.ServiceStopped)
	n.Code(n.AddTargetPortal(caller.Array), codes.FailedPrecondition)
	n.OK(n.StartService("MSiSCSI"))
	connects()

	n.SetServiceStart("MSiSCSI", csiproxytest.StartDisabled)
	n.Reboot()
	n.Code(n.AddTargetPortal(caller.Array), codes.FailedPrecondition)
}
