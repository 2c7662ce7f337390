// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

// clones is a node with two disks that only their addresses and volumes tell apart.
func clones(t *testing.T) *Node {
	t.Helper()
	s := scenario.Default()
	s.Disks = []bundle.Spec{{SizeBytes: 64 << 20, SerialNumber: "clone", LUN: 1, Formatted: true},
		{SizeBytes: 64 << 20, SerialNumber: "clone", LUN: 2, Formatted: true}}
	k := emulate(t, emulated.Options{Scenario: &s})
	return bare(t, k)
}

// opened opens a disk to be changed, which it has to be by verify, and closes it again.
func opened(t *testing.T, n *Node, number uint32, verify func(*op, *disk) error) error {
	t.Helper()
	return n.change(t.Context(), operation.On("test", operation.Disk(number)), func(o *op) error {
		d, err := o.openDiskToChange(number, verify)
		if err == nil {
			err = d.Close()
		}
		return err
	})
}

// TestANumberThatIsAnotherDisksByNow: a disk that was found by its marks is not another one, be it a clone.
func TestANumberThatIsAnotherDisksByNow(t *testing.T) {
	n := clones(t)
	found, err := read(t.Context(), n, operation.On("test"), func(o *op) ([]foundDisk, error) { return o.look(false, nil) })
	must(t, err)
	for number, want := range map[uint32]string{0: reason.DiskChanged, 1: "", 2: reason.DiskChanged, 9: reason.DiskNotFound} {
		if err := opened(t, n, number, found[1].is); (want != "" || err != nil) && !errdefs.HasReason(err, want) {
			t.Errorf("disk %d as disk 1: %v, want %q", number, err, want)
		}
	}
}

// TestADiskThatIsAnotherVolumesByNow: a disk without the volume that is meant is another one, and so is a disk of a
// volume that has gone.
func TestADiskThatIsAnotherVolumesByNow(t *testing.T) {
	n := clones(t)
	volumes, err := by(t.Context(), n).ListVolumesOnDisk(1)
	must(t, err)
	const gone = `\\?\Volume{00000000-0000-0000-0000-000000000001}\`
	for _, test := range []struct {
		number         uint32
		volume, reason string
	}{{2, volumes[0], reason.DiskChanged}, {1, gone, reason.VolumeNotFound}, {1, volumes[0], ""}} {
		id, err := winpath.ParseVolumeID(test.volume)
		must(t, err)
		err = opened(t, n, test.number, isDiskOf(id))
		if (test.reason != "" || err != nil) && !errdefs.HasReason(err, test.reason) {
			t.Errorf("disk %d as that of %s: %v, want %q", test.number, test.volume, err, test.reason)
		}
	}
}
