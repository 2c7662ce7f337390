// SPDX-License-Identifier: Apache-2.0

package ondisk

import (
	"errors"
	"fmt"

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
	FromBackup  bool              // the primary header or array was damaged
}

// errTooSmall means that a medium has no room for a table.
var errTooSmall = errors.New("the medium is too small for a GUID partition table")

// NewGPT returns an empty table with 128 slots for a medium of the given size. SectorSize is 512 or 4096.
func NewGPT(diskID guid.GUID, sectorSize int, sizeBytes int64) (*GPT, error) {
	t := &GPT{DiskID: diskID, SectorSize: sectorSize, Slots: defaultSlots}
	t.FirstUsable = 2 + t.arraySectors()
	if err := t.Resize(sizeBytes); err != nil {
		return nil, err
	}
	return t, nil
}

// Resize adapts the table to a medium of the given size: the usable end and the place of the backup move.
func (t *GPT) Resize(sizeBytes int64) error {
	if sizeBytes < 0 {
		return errTooSmall
	}
	sectors := uint64(sizeBytes) / uint64(t.SectorSize)
	if sectors < t.FirstUsable+t.arraySectors()+2 {
		return errTooSmall
	}
	t.Sectors, t.LastUsable = sectors, sectors-t.arraySectors()-2
	return t.Check()
}

// arraySectors returns how many sectors the entry array takes.
func (t *GPT) arraySectors() uint64 {
	return uint64((t.Slots*entrySize + t.SectorSize - 1) / t.SectorSize)
}

// Check returns an error if the table must not be written: if partitions are not whole sectors inside the usable area,
// overlap or share a number.
func (t *GPT) Check() error {
	sector := int64(t.SectorSize)
	from, to := int64(t.FirstUsable)*sector, int64(t.LastUsable+1)*sector
	for i, p := range t.Partitions {
		switch {
		case p.Number < 1 || p.Number > uint32(t.Slots):
			return fmt.Errorf("partition %d is outside the array of %d", p.Number, t.Slots)
		case p.Type == (guid.GUID{}):
			return fmt.Errorf("partition %d has no type", p.Number)
		case p.StartingOffset < from || p.Length <= 0 || p.Length > to-p.StartingOffset ||
			p.StartingOffset%sector != 0 || p.Length%sector != 0:
			return fmt.Errorf("partition %d: %d bytes at %d are not whole sectors inside the usable %d to %d",
				p.Number, p.Length, p.StartingOffset, from, to)
		}
		for _, o := range t.Partitions[:i] {
			if o.Number == p.Number || overlap(o, p) {
				return fmt.Errorf("partitions %d and %d have one number, or overlap", o.Number, p.Number)
			}
		}
	}
	return nil
}

// overlap reports whether two partitions share a byte.
func overlap(p, q win32.Partition) bool {
	return p.StartingOffset < q.StartingOffset+q.Length && q.StartingOffset < p.StartingOffset+p.Length
}
