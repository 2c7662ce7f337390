// SPDX-License-Identifier: Apache-2.0

package ondisk

import (
	"slices"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

const (
	entrySize    = 128 // bytes of one entry; the specification allows more, but no tool writes more
	defaultSlots = 128 // as Windows and every other tool make it
	maxSlots     = 1024
	nameUnits    = 36 // UTF-16 units of a partition name
)

// A GPT is a GUID partition table. Sectors are counted in SectorSize bytes.
type GPT struct {
	DiskID      guid.GUID
	SectorSize  int
	Sectors     uint64 // size of the medium for which the table was made; the last sector holds the backup header
	FirstUsable uint64
	LastUsable  uint64
	Slots       int               // capacity of the entry array
	Partitions  []win32.Partition // the used entries; their numbers are the places in the array, from 1
}

// NewGPT returns an empty table with 128 slots for a medium of the given size, which has room for it. SectorSize is 512
// or 4096.
func NewGPT(diskID guid.GUID, sectorSize int, sizeBytes int64) *GPT {
	t := &GPT{DiskID: diskID, SectorSize: sectorSize, Slots: defaultSlots}
	t.FirstUsable = 2 + t.arraySectors()
	t.Resize(sizeBytes)
	return t
}

// Resize adapts the table to a medium of the given size: the usable end and the place of the backup move.
func (t *GPT) Resize(sizeBytes int64) {
	t.Sectors = uint64(sizeBytes) / uint64(t.SectorSize)
	t.LastUsable = t.Sectors - t.arraySectors() - 2
}

// arraySectors returns how many sectors the entry array takes.
func (t *GPT) arraySectors() uint64 {
	return uint64((t.Slots*entrySize + t.SectorSize - 1) / t.SectorSize)
}

// Valid reports whether the table may be written: its partitions are whole sectors inside the usable area, which do not
// overlap, and have types and numbers of their own.
func (t *GPT) Valid() bool {
	sector := int64(t.SectorSize)
	from, to := int64(t.FirstUsable)*sector, int64(t.LastUsable+1)*sector
	for i, p := range t.Partitions {
		clash := func(o win32.Partition) bool { return o.Number == p.Number || overlap(o, p) }
		if p.Number < 1 || p.Number > uint32(t.Slots) || p.Type == (guid.GUID{}) ||
			p.StartingOffset < from || p.Length <= 0 || p.Length > to-p.StartingOffset ||
			p.StartingOffset%sector != 0 || p.Length%sector != 0 || slices.ContainsFunc(t.Partitions[:i], clash) {
			return false
		}
	}
	return true
}

// overlap reports whether two partitions share a byte.
func overlap(p, q win32.Partition) bool {
	return p.StartingOffset < q.StartingOffset+q.Length && q.StartingOffset < p.StartingOffset+p.Length
}
