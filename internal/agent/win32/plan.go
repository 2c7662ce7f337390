// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/Microsoft/go-winio/pkg/guid"
)

// ErrNoSpace means that there is no room for a partition of at least 1 MiB, or that the table is full.
var ErrNoSpace = errors.New("no room for a partition of at least 1 MiB")

// alignment is that of both ends of a partition, as Windows' own, and a multiple of every sector size.
const alignment = 1 << 20

// HasDataPartition reports whether the disk is partitioned in the sense of drivers: a GPT with any partition other than
// Microsoft Reserved, or an MBR with any entry in use. A RAW disk is not.
func (l DriveLayout) HasDataPartition() bool {
	return l.Style != PARTITION_STYLE_RAW && slices.ContainsFunc(l.Partitions, Partition.IsData)
}

// PlanDataPartition adds one basic data partition without a drive letter to a GPT layout, over the largest free extent
// of the usable area, aligned to 1 MiB. It returns the new layout and the new entry. If msrLength, in bytes, is
// positive and there is no Microsoft Reserved partition, one goes in front of it, unless no room for data would be
// left. Present entries stay unchanged. The error is ErrNoSpace, that of newID, or one about an impossible layout.
func PlanDataPartition(l DriveLayout, msrLength int64,
	newID func() (guid.GUID, error)) (DriveLayout, Partition, error) {
	if l.Style != PARTITION_STYLE_GPT {
		return DriveLayout{}, Partition{}, fmt.Errorf("a partition can be planned only on a GPT disk, not %v", l.Style)
	}
	free, err := l.freeExtents()
	if err != nil {
		return DriveLayout{}, Partition{}, err
	}
	var added []Partition
	hasMSR := slices.ContainsFunc(l.Partitions, func(p Partition) bool { return p.Type == PartitionMSR && p.Length > 0 })
	if msrLength > 0 && !hasMSR {
		if start, rest, ok := carve(free, msrLength); ok {
			added = append(added, Partition{Type: PartitionMSR, StartingOffset: start, Length: msrLength,
				Name: "Microsoft reserved partition"})
			free = rest
		}
	}
	largest := extent{}
	for _, e := range free {
		if e.length() > largest.length() {
			largest = e
		}
	}
	if largest.length() < alignment {
		return DriveLayout{}, Partition{}, ErrNoSpace
	}
	added = append(added, Partition{
		Type: PartitionBasicData, StartingOffset: largest.start, Length: largest.length(),
		Name: "Basic data partition", Attributes: GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER,
	})
	if l.MaxPartitionCount != 0 && int64(len(l.Partitions)+len(added)) > int64(l.MaxPartitionCount) {
		return DriveLayout{}, Partition{}, fmt.Errorf("the table has %d entries: %w", l.MaxPartitionCount, ErrNoSpace)
	}

	l.Partitions = slices.Clone(l.Partitions)
	var number uint32
	for _, p := range l.Partitions {
		number = max(number, p.Number)
	}
	for _, p := range added {
		number++
		p.Style, p.Number, p.Rewrite = PARTITION_STYLE_GPT, number, true
		if p.ID, err = newID(); err != nil {
			return DriveLayout{}, Partition{}, err
		}
		l.Partitions = append(l.Partitions, p)
	}
	return l, l.Partitions[len(l.Partitions)-1], nil
}

// MaxLength returns the length in bytes to which the partition could grow without moving anything: up to the next
// partition or the end of the usable area, aligned down to 1 MiB, but never less than its own length. An MBR layout
// does not hold the end of the disk: set UsableLength to the disk's size first.
func MaxLength(l DriveLayout, p Partition) int64 {
	end := add(l.StartingUsableOffset, l.UsableLength)
	for _, q := range l.Partitions {
		switch qEnd := add(q.StartingOffset, q.Length); {
		case q.Length <= 0 || q.StartingOffset == p.StartingOffset && q.Length == p.Length:
			// An empty entry, or p itself.
		case q.StartingOffset > p.StartingOffset:
			end = min(end, q.StartingOffset)
		case qEnd > p.StartingOffset:
			end = min(end, qEnd) // p is a logical drive inside q
		}
	}
	return max(p.Length, end&^(alignment-1)-p.StartingOffset)
}

// extent is a range of bytes on a disk.
type extent struct{ start, end int64 }

func (e extent) length() int64 { return e.end - e.start }

// freeExtents returns the unused parts of the usable area, in order and aligned inwards to 1 MiB. None is empty.
func (l DriveLayout) freeExtents() ([]extent, error) {
	if l.StartingUsableOffset < 0 || l.UsableLength < 0 ||
		l.StartingUsableOffset > math.MaxInt64-alignment-l.UsableLength {
		return nil, fmt.Errorf("impossible layout: usable area at %d, %d bytes", l.StartingUsableOffset, l.UsableLength)
	}
	var used []extent
	for _, p := range l.Partitions {
		if p.Length == 0 {
			continue
		}
		if p.StartingOffset < 0 || p.Length < 0 || p.StartingOffset > math.MaxInt64-alignment-p.Length {
			return nil, fmt.Errorf("impossible layout: partition %d at %d, %d bytes", p.Number, p.StartingOffset, p.Length)
		}
		used = append(used, extent{p.StartingOffset, p.StartingOffset + p.Length})
	}
	sort.Slice(used, func(i, j int) bool { return used[i].start < used[j].start })

	var free []extent
	position := l.StartingUsableOffset
	usableEnd := l.StartingUsableOffset + l.UsableLength
	for _, u := range append(used, extent{usableEnd, usableEnd}) {
		e := extent{
			start: (position + alignment - 1) &^ (alignment - 1),
			end:   min(u.start, usableEnd) &^ (alignment - 1),
		}
		if e.length() > 0 {
			free = append(free, e)
		}
		position = max(position, u.end)
	}
	return free, nil
}

// carve takes length bytes from the front of the first extent that is long enough, if 1 MiB stays free afterwards.
func carve(free []extent, length int64) (start int64, rest []extent, ok bool) {
	for i, e := range free {
		if e.length() < length {
			continue
		}
		rest = slices.Clone(free)
		rest[i].start = (e.start + length + alignment - 1) &^ (alignment - 1)
		for _, r := range rest {
			if r.length() >= alignment {
				return e.start, rest, true
			}
		}
	}
	return 0, nil, false
}

// add returns a+b, or the largest number if that overflows.
func add(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
