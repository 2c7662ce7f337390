// SPDX-License-Identifier: Apache-2.0

package gpt

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/Microsoft/go-winio/pkg/guid"
)

const (
	entrySize    = 128 // bytes of one entry; the specification allows more, but no tool writes more
	defaultSlots = 128 // as Windows and every other tool make it
	maxSlots     = 1024
	nameUnits    = 36 // UTF-16 units of a partition name
)

// Partition is one used entry of a table.
type Partition struct {
	Slot       int // index of the entry in the array, from 0; constant while the partition exists
	Type, ID   guid.GUID
	First      uint64 // first sector
	Last       uint64 // last sector, inclusive
	Attributes uint64
	Name       string
}

// Sectors returns the length of the partition in sectors.
func (p Partition) Sectors() uint64 { return p.Last - p.First + 1 }

// Table is a GUID partition table. Sectors are counted in SectorSize bytes.
type Table struct {
	DiskID      guid.GUID
	SectorSize  int
	Sectors     uint64 // size of the medium for which the table was made; the last sector holds the backup header
	FirstUsable uint64
	LastUsable  uint64
	Slots       int // capacity of the entry array
	Partitions  []Partition
	FromBackup  bool // the primary header or array was damaged
}

// ErrTooSmall means that a medium has no room for a table.
var ErrTooSmall = errors.New("the medium is too small for a GUID partition table")

// New returns an empty table with 128 slots for a medium of the given size. SectorSize is 512 or 4096.
func New(diskID guid.GUID, sectorSize int, sizeBytes int64) (*Table, error) {
	t := &Table{DiskID: diskID, SectorSize: sectorSize, Slots: defaultSlots}
	t.FirstUsable = 2 + t.arraySectors()
	if err := t.Resize(sizeBytes); err != nil {
		return nil, err
	}
	return t, nil
}

// Resize adapts the table to a medium of the given size: the usable end and the place of the backup move.
func (t *Table) Resize(sizeBytes int64) error {
	if sizeBytes < 0 {
		return ErrTooSmall
	}
	sectors := uint64(sizeBytes) / uint64(t.SectorSize)
	if sectors < t.FirstUsable+t.arraySectors()+2 {
		return ErrTooSmall
	}
	last := sectors - t.arraySectors() - 2
	for _, p := range t.Partitions {
		if p.Last > last {
			return fmt.Errorf("partition in slot %d ends at sector %d, past the new usable end %d", p.Slot, p.Last, last)
		}
	}
	t.Sectors, t.LastUsable = sectors, last
	return nil
}

// arraySectors returns how many sectors the entry array takes.
func (t *Table) arraySectors() uint64 {
	return uint64((t.Slots*entrySize + t.SectorSize - 1) / t.SectorSize)
}

// NewGUID returns a random GUID, as of a new disk or partition.
func NewGUID() guid.GUID {
	id, _ := guid.NewV4() // never fails, as it reads from crypto/rand
	return id
}

// Sorted returns the partitions by slot.
func (t *Table) Sorted() []Partition {
	return slices.SortedFunc(slices.Values(t.Partitions), func(a, b Partition) int { return a.Slot - b.Slot })
}

// Check returns an error if the table must not be written: if partitions lie outside the usable area, overlap or share
// a slot.
func (t *Table) Check() error {
	slots := map[int]bool{}
	byStart := slices.SortedFunc(slices.Values(t.Partitions),
		func(a, b Partition) int { return cmp.Compare(a.First, b.First) })
	for i, p := range byStart {
		switch {
		case p.Slot < 0 || p.Slot >= t.Slots:
			return fmt.Errorf("slot %d is outside the array of %d", p.Slot, t.Slots)
		case slots[p.Slot]:
			return fmt.Errorf("slot %d is used twice", p.Slot)
		case p.Type == (guid.GUID{}):
			return fmt.Errorf("slot %d has no type", p.Slot)
		case p.First > p.Last || p.First < t.FirstUsable || p.Last > t.LastUsable:
			return fmt.Errorf("slot %d: sectors %d to %d are not inside the usable %d to %d",
				p.Slot, p.First, p.Last, t.FirstUsable, t.LastUsable)
		case i > 0 && p.First <= byStart[i-1].Last:
			return fmt.Errorf("slots %d and %d overlap", byStart[i-1].Slot, p.Slot)
		}
		slots[p.Slot] = true
	}
	return nil
}
