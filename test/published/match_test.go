// SPDX-License-Identifier: Apache-2.0

//go:build unix

package published

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/mounter"
	"github.com/kubernetes-csi/csi-proxy/mounter/csicode"
)

// wantNone checks that no disk matches: the agent waits for it, and makes Windows look for new devices.
func wantNone(t *testing.T, n *csiproxytest.Node, what string, match mounter.Match) {
	t.Helper()
	rescanning, release := n.Hang(csiproxytest.Calls{Function: "ReenumerateDevices"})
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m, staged := mounter.New(n.Client()), make(chan error, 1)
	go func() {
		device, err := m.StageDisk(ctx, match, staging, mounter.StageOptions{})
		staged <- fmt.Errorf("disk %d: %w", device.Disk, err)
	}()
	select {
	case <-rescanning:
		cancel()
		if err := <-staged; err == nil {
			t.Errorf("%s was staged", what)
		}
	case err := <-staged:
		t.Errorf("%s is not waited for: %v", what, err)
	}
}

// TestMatches: each cloud's mark finds one disk among those that users of that cloud posted (the profiles name the
// threads), and what looks alike finds none. Local disks are found by their model, as Windows gives it: whole or 16
// characters of it.
func TestMatches(t *testing.T) {
	t.Parallel()
	const none = ^uint32(0)
	for profile, cases := range map[string]map[uint32][]mounter.Match{
		"aws-ebs-nvme": {
			1: {mounter.ByEBSVolume("vol-0123456789abcdef0")},
			2: {mounter.ByEBSVolume("vol-0123456789abcdef1"), mounter.ByEBSVolume("VOL0123456789ABCDEF1")},
			3: {mounter.ByModel("Amazon EC2 NVMe Instance Storage")},
			none: {mounter.ByEBSVolume("vol-01234567"), mounter.ByGCEDevice("vol0123456789abcdef1_00000001."),
				mounter.ByAzureLUN(2)},
		},
		"aws-ebs-xen": {2: {mounter.ByEBSVolume("vol-0fedcba9876543211")}},
		"azure": {2: {mounter.ByAzureLUN(0)}, 3: {mounter.ByLUN(1), mounter.ByAzureLUN(1)},
			none: {mounter.ByAzureLUN(2)}},
		"azure-gen1": {2: {mounter.ByLUN(0), mounter.ByAzureLUN(0)}, 3: {mounter.ByAzureLUN(1)}},
		"azure-nvme": {1: {mounter.ByModel("microsoft nvme direct disk v2")}, 2: {mounter.ByAzureLUN(0)},
			3: {mounter.ByAzureLUN(1)}, none: {mounter.ByAzureLUN(2), mounter.ByLUN(7)}},
		"gce-pd-scsi": {2: {mounter.ByGCEDevice("pvc-6f0d5b1e-93a7-4c28-8d14-b7e2a05c9f37")},
			none: {mounter.ByGCEDevice("Google"), mounter.ByGCEDevice("9f37")}},
		"gce-pd-nvme": {2: {mounter.ByEUI64(0xe3f02b7194da5c08)}, none: {mounter.ByEUI64(0xe3f02b7194da5c09)}},
		"vsphere": {2: {mounter.ByVSphereUUID("6000C294-e9da-4137-7ffb-eda45b97abeb")},
			none: {mounter.ByVSphereUUID("6000C294-e9da-4137-7ffb-eda45b97abec")}},
	} {
		n := csiproxytest.Start(t, csiproxytest.Options{Scenario: profile})
		m := mounter.New(n.Client())
		for disk, matches := range cases {
			for i, match := range matches {
				what := fmt.Sprintf("%s, disk %d, match %d", profile, disk, i)
				if disk == none {
					wantNone(t, n, what, match)
					continue
				}
				device, err := m.StageDisk(t.Context(), match, targetOf(fmt.Sprint(disk)), mounter.StageOptions{})
				if err != nil || device.Disk != disk {
					t.Errorf("%s: disk %d, %v", what, device.Disk, err)
				}
			}
		}
	}
	n := csiproxytest.Start(t, csiproxytest.Options{Scenario: "azure-nvme"})
	_, err := mounter.New(n.Client()).StageDisk(t.Context(), mounter.ByModel("MSFT NVMe Accelerator v1.0"), staging,
		mounter.StageOptions{})
	if !errors.Is(err, csiproxy.ErrAmbiguous) {
		t.Errorf("a model that several disks have: %v, want ErrAmbiguous", err)
	}
}

// TestZeroMatch: a match that names no disk fails at once, where one for a disk that has yet to come would wait.
func TestZeroMatch(t *testing.T) {
	t.Parallel()
	_, m := start(t)
	_, err := m.StageDisk(t.Context(), mounter.Match{}, staging, mounter.StageOptions{})
	if !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("the zero Match: %v, want fs.ErrInvalid", err)
	}
}

// TestAmbiguousMatches: the error has what tells the candidates apart, and no other disk.
func TestAmbiguousMatches(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "other", Adapter: 7})
	n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "another", Adapter: 8})
	for what, match := range map[string]mounter.Match{
		"the agent's": mounter.ByLUN(0),
		"the driver's": mounter.Where("LUN 0 at an adapter above 6",
			func(d mounter.Disk) bool { return d.LUN == "0" && d.Adapter > "6" }),
	} {
		_, err := m.StageDisk(t.Context(), match, staging, mounter.StageOptions{})
		if !errors.Is(err, csiproxy.ErrAmbiguous) {
			t.Fatalf("%s, two disks with LUN 0: %v, want ErrAmbiguous", what, err)
		}
		for text, want := range map[string]bool{"other adapter 7": true, "another adapter 8": true, serial: false} {
			if strings.Contains(err.Error(), text) != want {
				t.Errorf("%s: the error contains %q: %v, want %v: %v", what, text, !want, want, err)
			}
		}
	}
}

// TestStageWaits: a disk that comes late is staged, whether the agent or the kit looks for it, and one that never comes
// is not waited for after the deadline.
func TestStageWaits(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	for late, match := range map[string]mounter.Match{
		"one": mounter.BySerialNumber("one"),
		"two": mounter.Where("a late disk", func(d mounter.Disk) bool { return d.SerialNumber == "two" }),
	} {
		looking, release := n.Hang(csiproxytest.Calls{Function: "ReenumerateDevices"})
		staged := make(chan error, 1)
		go func() {
			_, err := m.StageDisk(t.Context(), match, targetOf(late), mounter.StageOptions{})
			staged <- err
		}()
		select {
		case <-looking:
		case err := <-staged:
			t.Fatalf("%s is not waited for: %v", late, err)
		}
		n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: late})
		release()
		check(t, "staging "+late, <-staged)
	}
	for what, match := range map[string]mounter.Match{
		"the agent's": mounter.ByLUN(77),
		"the kit's":   mounter.Where("no mark", func(mounter.Disk) bool { return false }),
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		_, err := m.StageDisk(ctx, match, staging, mounter.StageOptions{})
		cancel()
		if !errors.Is(err, csiproxy.ErrDiskNotFound) || !errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(err.Error(), serial) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want ErrDiskNotFound, DeadlineExceeded and the node's disks in one line", what, err)
		}
	}
	_, err := m.StageDisk(t.Context(), mounter.ByNumber(77), staging, mounter.StageOptions{})
	if got := csicode.Of("NodeStageVolume", err); !errors.Is(err, csiproxy.ErrDiskNotFound) || got != codes.NotFound {
		t.Errorf("a number, which is not waited for: %v with the code %v, want ErrDiskNotFound and NotFound", err, got)
	}
}
