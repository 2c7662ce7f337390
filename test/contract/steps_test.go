// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// Where two drivers have the volumes of one disk.
const (
	ours   = `C:\var\lib\kubelet\plugins\kubernetes.io\csi\ours\abc\globalmount`
	theirs = `C:\var\lib\kubelet\plugins\kubernetes.io\csi\theirs\abc\globalmount`
)

// shared is a node whose disk 1 has two data volumes.
type shared struct {
	*testnode.Node
	t   *testing.T
	ids []string
}

// startShared starts a node on whose disk 1 a volume is mounted at each of both places.
func startShared(t *testing.T, o testnode.Options) shared {
	t.Helper()
	n := testnode.Start(t, o)
	s := shared{n, t, twoVolumes(t, n)}
	for i, at := range []string{ours, theirs} {
		_, err := n.Volume.FormatVolume(t.Context(), &volume.FormatVolumeRequest{VolumeId: s.ids[i]})
		noError(t, err)
		noError(t, mount(t, n, s.ids[i], at))
		n.WriteFile(at+`\file`, at)
	}
	return s
}

func (s shared) unstage(at string) error {
	_, err := s.Client().NodeSteps.Unstage(s.t.Context(), &nodesteps.UnstageRequest{TargetPath: at})
	return err
}

func (s shared) stage(number uint32, at string) error {
	_, err := s.Client().NodeSteps.StageDisk(s.t.Context(), &nodesteps.StageDiskRequest{TargetPath: at,
		Disk: &nodesteps.StageDiskRequest_DiskNumber{DiskNumber: number}})
	return err
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

func (s shared) online(number uint32) bool {
	for _, d := range s.Tree().GetDisks() {
		if d.GetNumber() == number {
			return d.GetOnline()
		}
	}
	return false
}

// Unstage leaves a disk online for the volumes of other drivers, also if the client may not look there.
// The last one takes it offline.
func TestUnstageKeepsTheOtherVolumesOfADisk(t *testing.T) {
	s := startShared(t, testnode.Options{})
	noError(t, s.Agent.Stop(t.Context()))
	p, err := policy.Parse("own", []byte(`apiVersion: `+policy.APIVersion+`
kind: Policy
rules:
- name: own
  clients: [{any: true}]
  methods: [nodesteps]
  directories: ['`+ours+`']
`))
	noError(t, err)
	s.Node = testnode.Start(t, testnode.Options{StateDir: s.StateDir, Policy: p})
	wantCode(t, s.unstage(theirs), codes.PermissionDenied)
	noError(t, s.unstage(ours))
	s.intact("one of two volumes is unstaged", 1, theirs)
	noError(t, s.unstage(ours))
	s.intact("it is unstaged again", 1, theirs)
	noError(t, s.Agent.Stop(t.Context()))

	s.Node = testnode.Start(t, testnode.Options{StateDir: s.StateDir})
	noError(t, s.unstage(theirs))
	if s.online(1) {
		t.Error("the disk is online without a mounted volume")
	}
}

// A volume that does not answer may be mounted: its disk stays online, and Unstage says so until it answers.
func TestUnstageBesideAVolumeThatDoesNotAnswer(t *testing.T) {
	s := startShared(t, testnode.Options{})
	s.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS,
		Object: s.ids[1][len(`\\?\`) : len(s.ids[1])-1], Error: win32.ERROR_IO_DEVICE})
	wantReason(t, s.unstage(ours), codes.Unavailable, "NOT_ANSWERING")
	s.Faults.Release()
	s.intact("a volume did not answer", 1, theirs)
	noError(t, unmount(t, s.Node, s.ids[1], theirs))
	noError(t, s.unstage(ours))
	if s.online(1) {
		t.Error("the disk is online after the repeated call")
	}
}

// A mount that runs while another volume of the disk is unstaged comes before the disk's going offline, or fails.
func TestUnstageWhileAnotherVolumeIsMounted(t *testing.T) {
	s := startShared(t, testnode.Options{})
	noError(t, unmount(t, s.Node, s.ids[1], theirs))
	mounting, release := s.Faults.Hang("SetVolumeMountPoint")
	results := [2]chan error{make(chan error, 1), make(chan error, 1)}
	go func() { results[0] <- mount(t, s.Node, s.ids[1], theirs) }()
	<-mounting
	go func() { results[1] <- s.unstage(ours) }()
	s.WaitFor(func() bool { // its mount point is gone, and it is about to look for others
		for _, m := range s.Mounts() {
			if m.Path == ours {
				return false
			}
		}
		return true
	})
	release()
	for _, result := range results {
		noError(t, <-result)
	}
	s.intact("the mount came first", 1, theirs)

	noError(t, mount(t, s.Node, s.ids[0], ours))
	noError(t, unmount(t, s.Node, s.ids[1], theirs))
	leaving, goOn := s.Hang(csiproxytest.Calls{Function: "DeviceIoControl",
		ControlCode: "IOCTL_DISK_SET_DISK_ATTRIBUTES"})
	go func() { results[1] <- s.unstage(ours) }()
	<-leaving
	go func() { results[0] <- mount(t, s.Node, s.ids[1], theirs) }()
	goOn()
	noError(t, <-results[1])
	if err := <-results[0]; err == nil {
		t.Error("a volume was mounted although its disk went offline first")
	}
}

// Whatever runs at the same time, a stage or mount that answered OK keeps its volume.
func TestUnstageAgainstStagesOfTheDisk(t *testing.T) {
	s := startShared(t, testnode.Options{})
	noError(t, s.stage(2, ours+`2`))
	s.WriteFile(ours+`2\file`, theirs+`2`)
	rounds := 10
	if testnode.Long() {
		rounds = 200
	}
	for round := range rounds {
		another := func() error { return s.stage(1, theirs) } // where its volume is mounted
		if round%2 == 1 {
			another = func() error { return mount(t, s.Node, s.ids[1], theirs) }
			noError(t, unmount(t, s.Node, s.ids[1], theirs))
		}
		// Windows takes long to mount, so that the unstaging meets mounts that are under way.
		punctual := s.Delay(csiproxytest.Calls{Function: "SetVolumeMountPoint"}, 10*time.Millisecond, 40*time.Millisecond)
		var calls sync.WaitGroup
		var kept [2]error
		for i, call := range []func() error{another, func() error { return s.stage(2, theirs+`2`) }} {
			calls.Go(func() { kept[i] = call() })
			calls.Go(func() {
				if err := s.unstage(ours + []string{"", "2"}[i]); err != nil {
					t.Errorf("round %d: unstaging: %v", round, err)
				}
			})
		}
		calls.Wait()
		punctual()
		for i, at := range []string{theirs, theirs + `2`} {
			if kept[i] == nil {
				s.intact(fmt.Sprint("round ", round), uint32(i+1), at)
			}
		}
		noError(t, setState(t, s.Node, 1, true))
		noError(t, mount(t, s.Node, s.ids[0], ours))
		noError(t, mount(t, s.Node, s.ids[1], theirs))
		noError(t, s.unstage(theirs+`2`))
		noError(t, s.stage(2, ours+`2`))
	}
}

// StageDisk stages no volume of several, and says which there are. One that is mounted at the target is meant.
func TestStageOfADiskWithSeveralVolumes(t *testing.T) {
	s := startShared(t, testnode.Options{})
	wantReason(t, s.stage(1, ours+`-new`), codes.FailedPrecondition, "AMBIGUOUS_VOLUME", s.ids...)
	if exists(t, s.Node, ours+`-new`) {
		t.Error("the refused stage made a directory")
	}
	for i, at := range []string{ours, theirs} {
		answer, err := s.Client().NodeSteps.StageDisk(t.Context(), &nodesteps.StageDiskRequest{TargetPath: at,
			Disk: &nodesteps.StageDiskRequest_DiskNumber{DiskNumber: 1}})
		if err != nil || answer.GetVolumeId() != s.ids[i] {
			t.Errorf("staging at %s again: %v, %v, want volume %s", at, answer, err, s.ids[i])
		}
	}
	number := attach(t, s.Node, emulated.DiskSpec{SizeBytes: 1 << 30, LUNAuto: true, Formatted: true, Boot: true})
	noError(t, s.stage(number, ours+`-boot`)) // its other volume is no data volume
}

// Two targets that only Unicode takes for one are two: each has its record, and its own volume or share.
func TestTargetsThatNTFSTellsApart(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	steps := n.Client().NodeSteps
	for _, pair := range [][2]string{{"k", "\u212a"}, {"\u00e5", "\u212b"}} {
		unstage := func(letter string) {
			_, err := steps.Unstage(t.Context(), &nodesteps.UnstageRequest{TargetPath: staging + letter})
			noError(t, err)
		}
		for _, letter := range pair {
			_, err := steps.StageShare(t.Context(), &nodesteps.StageShareRequest{RemotePath: `\\fs.emulated\share`,
				TargetPath: staging + letter, Username: "csi", Password: "csi-password"})
			noError(t, err)
		}
		unstage(pair[1])
		if len(n.Mappings()) != 1 || !isSymlink(t, n, staging+pair[0]) {
			t.Errorf("%q: unstaging the other left the link: %t, and the mappings %v", pair[0],
				isSymlink(t, n, staging+pair[0]), n.Mappings())
		}
		unstage(pair[0])
		if len(n.Mappings()) != 0 {
			t.Errorf("%q: the share of both is mapped", pair)
		}
		_, err := steps.StageShare(t.Context(), &nodesteps.StageShareRequest{RemotePath: `\\fs.emulated\share`,
			TargetPath: staging + pair[0], Username: "csi", Password: "csi-password"})
		noError(t, err)
		_, err = steps.StageShare(t.Context(), &nodesteps.StageShareRequest{RemotePath: `\\fs.emulated\other`,
			TargetPath: staging + pair[1], Username: "csi", Password: "csi-password"})
		noError(t, err)
		unstage(pair[0])
		unstage(pair[1])
		if len(n.Mappings()) != 0 {
			t.Errorf("%q: a share of one of two is mapped: %v", pair, n.Mappings())
		}
	}
}

// A stage that asks for more than one that is under way is done by itself: it does not get the other's answer.
func TestStageThatAsksForMoreThanAnother(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	for serial, first := range map[string]*nodesteps.StageDiskRequest{
		"read-only": {ReadOnly: true}, "keep-size": {KeepSize: true},
	} {
		number := n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: serial, Formatted: true})
		n.GrowDisk(number, 2<<30)
		mounting, release := n.Hang(csiproxytest.Calls{Function: "SetVolumeMountPoint"})
		answers := [2]chan *nodesteps.StageDiskResponse{make(chan *nodesteps.StageDiskResponse, 1),
			make(chan *nodesteps.StageDiskResponse, 1)}
		stage := func(i int, request *nodesteps.StageDiskRequest) {
			request.TargetPath, request.Disk = staging+serial, &nodesteps.StageDiskRequest_DiskNumber{DiskNumber: number}
			answer, err := n.Client().NodeSteps.StageDisk(t.Context(), request)
			if err != nil {
				t.Errorf("%s: stage %d: %v", serial, i, err)
			}
			answers[i] <- answer
		}
		go stage(0, first)
		<-mounting
		begun := func() int {
			_ = exists(t, n, staging) // an entry in the journal, for which WaitFor looks
			return len(slices.DeleteFunc(n.Find(csiproxytest.Query{Method: "nodesteps"}),
				func(e *nodeapi.JournalEntry) bool { return e.GetApi() == nil }))
		}
		before := begun()
		go stage(1, &nodesteps.StageDiskRequest{})
		n.WaitFor(func() bool { return begun() > before })
		release()
		if small := (<-answers[0]).GetTotalBytes(); small > 1<<30 {
			t.Errorf("%s: the volume has %d bytes after the stage that must not extend it", serial, small)
		}
		if grown := (<-answers[1]).GetTotalBytes(); grown <= 1<<30 {
			t.Errorf("%s: the volume has %d bytes after the stage that must extend it", serial, grown)
		}
	}
}

// A disk that takes the number of the unmounted volume's disk, before that goes offline, stays online.
func TestUnstageOfADiskWhoseNumberAnotherTakes(t *testing.T) {
	s := startShared(t, testnode.Options{})
	noError(t, unmount(t, s.Node, s.ids[1], theirs))
	opening, release := s.Hang(csiproxytest.Calls{Function: "OpenDevice", Object: "physicaldrive1"})
	unstaged := make(chan error, 1)
	go func() { unstaged <- s.unstage(ours) }()
	<-opening
	s.DetachDisk(1)
	if number := s.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, Formatted: true}); number != 1 {
		t.Fatalf("the other disk has the number %d, want 1", number)
	}
	release()
	noError(t, <-unstaged)
	if !s.online(1) {
		t.Error("the other disk is offline")
	}
}

// A share whose link is gone is unmapped when the agent starts; one whose link is there stays.
func TestCleanShares(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	steps := n.Client().NodeSteps
	for share, target := range map[string]string{`\\fs.emulated\share`: staging, `\\fs.emulated\other`: publish} {
		_, err := steps.StageShare(t.Context(), &nodesteps.StageShareRequest{RemotePath: share, TargetPath: target,
			Username: "csi", Password: "csi-password"})
		noError(t, err)
	}
	noError(t, rmdir(t, n, staging, false))
	node, err := n.Agent.Node()
	noError(t, err)
	for range 2 {
		noError(t, node.Steps.CleanShares(t.Context()))
		if m := n.Mappings(); len(m) != 1 || !strings.EqualFold(m[0].Share, `\\fs.emulated\other`) {
			t.Errorf("mapped are %v", m)
		}
	}
}
