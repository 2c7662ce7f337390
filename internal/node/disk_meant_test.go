// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
)

// TestANumberThatIsAnotherDisksByNow: a change that means another disk by the number leaves the disk alone.
func TestANumberThatIsAnotherDisksByNow(t *testing.T) {
	s := emulated.DefaultScenario()
	s.Disks = []emulated.DiskSpec{{SizeBytes: 64 << 20, SerialNumber: "one", LUN: 1},
		{SizeBytes: 64 << 20, SerialNumber: "two", LUN: 2, Offline: true}}
	k, err := emulated.Open(t.TempDir(), emulated.Options{Scenario: &s, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = k.Close() }()
	n := bare(t, k)
	disks, err := n.Disks.ListDiskIDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	changes := map[uint32]func(context.Context, uint32) error{
		1: n.Disks.PartitionDisk,
		2: func(ctx context.Context, number uint32) error { return n.Disks.SetDiskState(ctx, number, true) },
	}
	for number, change := range changes {
		var e *errdefs.Error
		err := change(WithDisk(t.Context(), number, DiskIDs{SerialNumber: "gone"}), number)
		if !errors.As(err, &e) || e.Class != errdefs.Unavailable || e.Reason != reason.DiskChanged {
			t.Errorf("disk %d: got %v, want %s", number, err, reason.DiskChanged)
		}
	}
	if volumes, err := n.Volumes.ListVolumesOnDisk(t.Context(), 1, 0); err != nil || len(volumes) > 0 {
		t.Errorf("the volumes of disk 1, which is raw: %q, %v", volumes, err)
	}
	if online, err := n.Disks.GetDiskState(t.Context(), 2); err != nil || online {
		t.Errorf("disk 2 is online: %t, %v", online, err)
	}
	for number, change := range changes {
		if err := change(WithDisk(t.Context(), number, disks[number]), number); err != nil {
			t.Errorf("disk %d, the one that is meant: %v", number, err)
		}
		if err := change(WithDisk(t.Context(), 7, DiskIDs{SerialNumber: "gone"}), number); err != nil {
			t.Errorf("disk %d, where disk 7 is meant by its number: %v", number, err)
		}
	}
}

// TestADiskThatIsAnotherVolumesByNow: a change that means the disk of a volume leaves alone a disk without the volume.
func TestADiskThatIsAnotherVolumesByNow(t *testing.T) {
	s := emulated.DefaultScenario()
	s.Disks = []emulated.DiskSpec{{SizeBytes: 64 << 20, SerialNumber: "clone", LUN: 1, Formatted: true},
		{SizeBytes: 64 << 20, SerialNumber: "clone", LUN: 2, Formatted: true}}
	k, err := emulated.Open(t.TempDir(), emulated.Options{Scenario: &s, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = k.Close() }()
	n := bare(t, k)
	volumes, err := n.Volumes.ListVolumesOnDisk(t.Context(), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	const gone = `\\?\Volume{00000000-0000-0000-0000-000000000001}\`
	for _, test := range []struct {
		number         uint32
		volume, reason string
	}{{2, volumes[0], reason.DiskChanged}, {1, gone, reason.VolumeNotFound}, {1, volumes[0], ""}} {
		err := n.Disks.SetDiskState(WithDiskOf(t.Context(), test.number, test.volume), test.number, false)
		if (test.reason != "" || err != nil) && !hasReason(err, test.reason) {
			t.Errorf("disk %d as that of %s: %v, want %q", test.number, test.volume, err, test.reason)
		}
		if online, err := n.Disks.GetDiskState(t.Context(), test.number); err != nil || online != (test.reason != "") {
			t.Errorf("disk %d as that of %s is online: %t, %v", test.number, test.volume, online, err)
		}
	}
}

func hasReason(err error, reason string) bool {
	var e *errdefs.Error
	return errors.As(err, &e) && e.Reason == reason
}
