// SPDX-License-Identifier: Apache-2.0

package node

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

// misleading is a node on which the name of a device opens another one.
type misleading struct {
	*emulated.Node
	name, opens string
}

func (m *misleading) OpenDevice(path string, access uint32) (kernel.Handle, error) {
	if path == m.name {
		path = m.opens
	}
	return m.Node.OpenDevice(path, access)
}

// TestPartitionsThatMislead: a volume to which its partition does not lead is found among all volumes, and its disk
// stays online while it is mounted.
func TestPartitionsThatMislead(t *testing.T) {
	one, two := partitionDevice(1, 2), partitionDevice(2, 2)
	for name, lead := range map[string][2]string{
		"to the volume of another disk":      {one, two},
		"nowhere":                            {one, `\\?\GLOBALROOT\Device\none`},
		"to a device without a name":         {one, `\\.\PhysicalDrive1`},
		"to a name that the manager refuses": {kernel.MountManager, `\\.\PhysicalDrive1`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := scenario.Default()
				s.Disks = []bundle.Spec{{SizeBytes: 64 << 20, LUN: 1, Formatted: true}, {SizeBytes: 64 << 20, LUN: 2, Formatted: true}}
				k := &misleading{Node: emulate(t, emulated.Options{Scenario: &s})}
				n := bare(t, k)
				want, err := by(t.Context(), n).ListVolumesOnDisk(1)
				must(t, err)
				k.name, k.opens = lead[0], lead[1]
				if got, err := by(t.Context(), n).ListVolumesOnDisk(1); err != nil || !slices.Equal(got, want) {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
				for _, path := range []string{leafPath, leafParent + `\other`} {
					must(t, by(t.Context(), n).MountVolume(want[0], path))
				}
				must(t, by(t.Context(), n).Unstage(leafPath))
				if online, err := by(t.Context(), n).GetDiskState(1); err != nil || !online {
					t.Errorf("online: %t, %v", online, err)
				}
			})
		})
	}
}
