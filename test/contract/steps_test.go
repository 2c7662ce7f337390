// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"

	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/limits"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// Where two drivers have the volumes of one disk.
const (
	ours   = `C:\var\lib\kubelet\plugins\kubernetes.io\csi\ours\abc\globalmount`
	theirs = `C:\var\lib\kubelet\plugins\kubernetes.io\csi\theirs\abc\globalmount`
	parent = `C:\var\lib\kubelet\plugins\kubernetes.io\csi\ours\abc`
)

func byNumber(number uint32) *nodesteps.StageDiskRequest_DiskNumber {
	return &nodesteps.StageDiskRequest_DiskNumber{DiskNumber: number}
}

// shared is a node whose disk 1 has two data volumes.
type shared struct {
	*caller.Node
	t   *testing.T
	ids []string
}

// startShared starts a node on whose disk 1 a volume is mounted at each of both places.
func startShared(t *testing.T) shared {
	t.Helper()
	n := caller.Start(t, testnode.Options{})
	s := shared{n, t, twoVolumes(t, n)}
	for i, at := range []string{ours, theirs} {
		n.OK(n.FormatVolume(s.ids[i]))
		n.OK(n.MountVolume(s.ids[i], at))
		n.WriteFile(at+`\file`, at)
	}
	return s
}

// intact checks that the volume at a path can be used.
func (s shared) intact(what string, number uint32, at string) {
	s.t.Helper()
	if !s.online(number) {
		s.t.Errorf("%s: the disk is offline while a volume is mounted at %s", what, at)
	} else if s.ReadFile(at+`\file`) != at {
		s.t.Errorf("%s: the file at %s is another", what, at)
	}
}

func (s shared) online(number uint32) bool { return s.Tree().Disks[number].IsOnline() }

// Unstage leaves a disk online for the volumes of other drivers, also if the client may not look there.
// The last one takes it offline.
func TestUnstageKeepsTheOtherVolumesOfADisk(t *testing.T) {
	s := startShared(t)
	s.OK(s.Agent.Stop(t.Context()))
	p, err := policy.Parse("own", []byte(`{apiVersion: `+policy.APIVersion+`, kind: Policy, rules: [{name: own, `+
		`clients: [{any: true}], methods: [nodesteps], directories: ['`+parent+`']}]}`))
	s.OK(err)
	s.Node = caller.Start(t, testnode.Options{StateDir: s.StateDir, Policy: p})
	s.Code(s.Unstage(theirs), codes.PermissionDenied)
	s.OK(s.Unstage(ours))
	s.intact("one of two volumes is unstaged", 1, theirs)
	s.OK(s.Unstage(ours))
	s.intact("it is unstaged again", 1, theirs)
	s.OK(s.Agent.Stop(t.Context()))

	s.Node = caller.Start(t, testnode.Options{StateDir: s.StateDir})
	s.OK(s.Unstage(theirs))
	if s.online(1) {
		t.Error("the disk is online without a mounted volume")
	}
}

// A volume that does not answer may be mounted: its disk stays online, and Unstage says so until it answers.
func TestUnstageBesideAVolumeThatDoesNotAnswer(t *testing.T) {
	s := startShared(t)
	s.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS,
		Object: s.ids[1][len(`\\?\`) : len(s.ids[1])-1], Error: win32.ERROR_IO_DEVICE})
	s.Refused(s.Unstage(ours), codes.Unavailable, "NOT_ANSWERING")
	s.Faults.Release()
	s.intact("a volume did not answer", 1, theirs)
	s.OK(s.UnmountVolume(s.ids[1], theirs))
	s.OK(s.Unstage(ours))
	if s.online(1) {
		t.Error("the disk is online after the repeated call")
	}
}

// StageDisk stages no volume of several, and says which there are. One that is mounted at the target is meant.
func TestStageOfADiskWithSeveralVolumes(t *testing.T) {
	s := startShared(t)
	s.Refused(s.StageDisk(1, ours+`-new`), codes.FailedPrecondition, "AMBIGUOUS_VOLUME", s.ids...)
	if s.Exists(ours + `-new`) {
		t.Error("the refused stage made a directory")
	}
	for i, at := range []string{ours, theirs} {
		answer, err := s.Steps().StageDisk(t.Context(), &nodesteps.StageDiskRequest{TargetPath: at, Disk: byNumber(1)})
		if err != nil || answer.GetVolumeId() != s.ids[i] {
			t.Errorf("staging at %s again: %v, %v, want volume %s", at, answer, err, s.ids[i])
		}
	}
	number := s.Attach(bundle.Spec{SizeBytes: 1 << 30, LUNAuto: true, Formatted: true, Boot: true})
	s.OK(s.StageDisk(number, ours+`-boot`)) // its other volume is no data volume
}

// A disk that takes the number of the unmounted volume's disk, before that goes offline, stays online.
func TestUnstageOfADiskWhoseNumberAnotherTakes(t *testing.T) {
	s := startShared(t)
	s.OK(s.UnmountVolume(s.ids[1], theirs))
	opening, release := s.Hang(csiproxytest.Calls{Function: "OpenDevice", Object: "physicaldrive1"})
	unstaged := make(chan error, 1)
	go func() { unstaged <- s.Unstage(ours) }()
	<-opening
	s.DetachDisk(1)
	if number := s.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, Formatted: true}); number != 1 {
		t.Fatalf("the other disk has the number %d, want 1", number)
	}
	release()
	s.OK(<-unstaged)
	if !s.online(1) {
		t.Error("the other disk is offline")
	}
}

// A share whose link is gone is unmapped when the agent starts; one whose link is there stays.
func TestCleanShares(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	n.OK(n.StageShare(share, staging))
	n.OK(n.StageShare(otherShare, publish))
	n.OK(n.Rmdir(staging, false))
	node, err := n.Agent.Node()
	n.OK(err)
	for range 2 {
		n.OK(node.Steps.CleanShares(t.Context()))
		n.Mapped(otherShare)
	}
}

// A caller that found a disk by itself says which one it means by the number; another disk is left alone.
func TestStageDiskWithExpectedMarks(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	disks, err := n.ListDiskIDs()
	n.OK(err)
	stage := func(r *nodesteps.StageDiskRequest, marksOf uint32, readOnly bool) error {
		is := disks[marksOf]
		r.TargetPath, r.ReadOnly = staging, readOnly
		r.Expected = &nodesteps.DiskMarks{SerialNumber: is.GetSerialNumber(), Page83Id: is.GetPage83()}
		_, err := n.Steps().StageDisk(t.Context(), r)
		return err
	}
	byNumber := &nodesteps.StageDiskRequest{Disk: byNumber(2)}
	for _, readOnly := range []bool{false, true} {
		n.Refused(stage(byNumber, 1, readOnly), codes.Unavailable, "DISK_CHANGED")
	}
	if d := n.Tree().Disks[2]; d.IsOnline() || d.Style != "RAW" {
		t.Errorf("another disk was changed: %v", d)
	}
	n.Refused(stage(&nodesteps.StageDiskRequest{Disk: &nodesteps.StageDiskRequest_Lun{Lun: 2}}, 2, false),
		codes.InvalidArgument, "INVALID_ARGUMENT")
	n.OK(stage(byNumber, 2, false))
}

// Calls that wait for disks need none of the client's operations, so others go on. When the disks come, each is staged.
func TestWaitingForDisksHoldsUpNobody(t *testing.T) {
	n := caller.Start(t, testnode.Options{Limits: limits.Limits{ClientOperations: 2}})
	const waiting = 6
	staged := make(chan error, waiting)
	at := func(i int) string { return fmt.Sprintf(`%s-%d`, staging, i) }
	serial := func(i int) string { return fmt.Sprintf("late-%d-", i) }
	for i := range waiting {
		go func() {
			_, err := n.Steps().StageDisk(t.Context(), &nodesteps.StageDiskRequest{TargetPath: at(i),
				Disk: &nodesteps.StageDiskRequest_SerialNumber{SerialNumber: serial(i)}})
			staged <- err
		}()
	}
	n.WaitFor(func() bool { // a look of each, and then one together
		return len(n.Find(csiproxytest.Query{Function: "DiskInterfaces"})) > waiting &&
			len(n.Find(csiproxytest.Query{Function: "ReenumerateDevices"})) > 1
	})
	n.OK(n.Unstage(staging))
	for i := range waiting {
		n.Attach(bundle.Spec{SizeBytes: 64 << 20, SerialNumber: serial(i)})
	}
	for range waiting {
		n.OK(<-staged)
	}
	if mounts := n.Mounts(); len(mounts) != waiting {
		t.Errorf("%d volumes are mounted, want %d: %v", len(mounts), waiting, mounts)
	}
}

// A mounted volume is replaced by no link, which would leave its disk online; and Unstage of a path takes the disk offline
// also where a share was staged before.
func TestDisksAndSharesStayApart(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	n.OK(n.StageDisk(1, ours))
	n.WriteFile(ours+`\file`, "x")
	n.Refused(n.StageShare(share, ours), codes.FailedPrecondition, reason.OtherVolumeMounted)
	n.Refused(n.Publish(theirs, ours), codes.FailedPrecondition, reason.OtherVolumeMounted)
	n.Mapped()
	n.Holds(ours+`\file`, "x")
	n.OK(n.Unstage(ours))
	n.OK(n.StageShare(share, ours))
	n.OK(n.Rmdir(ours, false)) // of another program
	n.OK(n.StageDisk(1, ours))
	n.OK(n.Unstage(ours))
	n.Mapped()
	if online, err := n.GetDiskState(1); online || err != nil {
		t.Errorf("the disk is online: %t, %v", online, err)
	}
}

// At a directory that a rule lists, and above it, no client takes the place; below it each does as it may.
func TestListedDirectoriesAreNotForTaking(t *testing.T) {
	const listed, own = `C:\var\lib\kubelet\plugins\kubernetes.io\csi\ours`, `C:\var\lib\kubelet\plugins\own`
	p, err := policy.Parse("listed", []byte(`{apiVersion: `+policy.APIVersion+`, kind: Policy, rules: [{name: one, `+
		`clients: [{any: true}], methods: ['*'], directories: ['C:\var\lib\kubelet'], smbServers: ['*']}, `+
		`{name: two, clients: [{any: true}], methods: [read], directories: ['`+listed+`']}]}`))
	caller.OK(t, err)
	n := caller.Start(t, testnode.Options{Policy: p})
	n.OK(n.Mkdir(listed))
	n.OK(n.Mkdir(own))
	id := n.Formatted(1)
	for _, at := range []string{listed, `C:\var\lib\kubelet\plugins`} {
		for _, err := range map[string]error{
			"Publish": n.Publish(own, at), "StageShare": n.StageShare(share, at), "StageDisk": n.StageDisk(1, at),
			"Unstage": n.Unstage(at), "MountVolume": n.MountVolume(id, at), "UnmountVolume": n.UnmountVolume(id, at),
			"CreateSymlink": n.CreateSymlink(own, at), "NewSmbGlobalMapping": n.Map(share, at), "Rmdir": n.Rmdir(at, true),
			"RmdirContents": n.RmdirContents(at),
		} {
			n.Refused(err, codes.FailedPrecondition, reason.WorkingDirItself, "which clients share")
		}
	}
	n.Refused(n.CreateSymlink(`C:\var\lib\kubelet\plugins`, `C:\var\lib\kubelet\other`), codes.FailedPrecondition,
		reason.WorkingDirItself)
	n.Mapped()
	n.OK(n.MountVolume(id, listed+`\abc`))
	n.OK(n.Unstage(listed + `\abc`))
	n.OK(n.CreateSymlink(listed, own+`\link`))
}
