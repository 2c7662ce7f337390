// SPDX-License-Identifier: Apache-2.0

package node

import (
	"sync"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// volumeHints remembers the last known disk of each volume. Windows lists volumes only for the whole node, and there
// may be hundreds. A hint is checked before it is used.
type volumeHints struct{ known sync.Map } // of winpath.VolumeID, by diskOffset

type diskOffset struct {
	disk   uint32
	offset int64
}

func (h *volumeHints) remember(volumes []diskVolume) {
	for _, v := range volumes {
		h.known.Store(diskOffset{v.extent.DiskNumber, v.extent.StartingOffset}, v.id)
	}
}

// likelyOn separates the volumes that may be on a disk, which were last found there or never, from the others.
func (h *volumeHints) likelyOn(disk uint32, ids []winpath.VolumeID) (first, rest []winpath.VolumeID) {
	here, elsewhere := map[any]bool{}, map[any]bool{}
	h.known.Range(func(where, id any) bool {
		if where.(diskOffset).disk == disk { //nolint:forcetypeassert // there is nothing else in it
			here[id] = true
		} else {
			elsewhere[id] = true
		}
		return true
	})
	for _, id := range ids {
		if elsewhere[id] && !here[id] {
			rest = append(rest, id)
		} else {
			first = append(first, id)
		}
	}
	return first, rest
}

// hintedVolumes returns the volumes of the given partitions if each is still where it was last found; else false.
func (o *op) hintedVolumes(number uint32, partitions []win32.Partition) ([]diskVolume, bool) {
	volumes := make([]diskVolume, 0, len(partitions))
	for _, p := range partitions {
		where := diskOffset{number, p.StartingOffset}
		known, ok := o.node.hints.known.Load(where)
		if !ok {
			return nil, false
		}
		id := known.(winpath.VolumeID) //nolint:forcetypeassert // there is nothing else in it
		extents, err := o.volumeExtents(id)
		if err != nil || len(extents) != 1 || extents[0].DiskNumber != number ||
			extents[0].StartingOffset != p.StartingOffset {
			o.node.hints.known.Delete(where)
			return nil, false
		}
		volumes = append(volumes, diskVolume{id, extents[0]})
	}
	return volumes, true
}
