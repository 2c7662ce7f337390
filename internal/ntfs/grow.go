// SPDX-License-Identifier: Apache-2.0

package ntfs

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// Grow returns the blocks by which the file system on a volume gets so many sectors, without the backup of the boot
// sector, for which there must be room. What it changes is what FSCTL_EXTEND_VOLUME must: the number of sectors in the
// boot sector and its copy, the bits and the size of $Bitmap, and the size of $BadClus. All else stays as it is. The
// boot sector comes last.
//
// It refuses a file system that is damaged, that was not left clean, or whose metadata is more scattered than a file
// record can say: nothing is known then about the clusters that are free. A boot sector alone, with zeros where its MFT
// should be, has nothing but the number of sectors.
func Grow(volume io.ReaderAt, sectors uint64) ([]Block, error) {
	s, err := open(volume)
	if err != nil {
		return nil, err
	}
	old := s.clusters
	s.clusters = int64(sectors / s.perCluster)
	if s.clusters <= old {
		return nil, errors.New("it would not get a cluster")
	}
	var blocks []Block
	if !s.bootSectorOnly {
		if blocks, err = s.growMetadata(old); err != nil {
			return nil, err
		}
	}
	return append(blocks, growBootSector(s.boot, sectors)...), nil
}

func (s *system) growMetadata(old int64) ([]Block, error) {
	if err := s.clean(old); err != nil {
		return nil, err
	}
	bitmap, err := s.growBitmap(old)
	if err != nil {
		return nil, fmt.Errorf("$Bitmap: %w", err)
	}
	badClusters, err := s.growBadClusters(old)
	if err != nil {
		return nil, fmt.Errorf("$BadClus: %w", err)
	}
	return append(bitmap, badClusters...), nil
}

// growBitmap makes $Bitmap large enough. The clusters that it needs are the first of the new ones.
func (s *system) growBitmap(old int64) ([]Block, error) {
	r, err := s.record(fileBitmap)
	if err != nil {
		return nil, err
	}
	a, runs, err := s.attributeRuns(r, "", old)
	if err != nil {
		return nil, err
	}
	oldSize, has := int64(le.Uint64(r[a+48:])), clustersIn(runs)
	isHole := func(r run) bool { return r.first == hole }
	if oldSize < (old+7)/8 || oldSize > min(has*s.cluster, 2*bitmapBytes(old)) || slices.ContainsFunc(runs, isHole) {
		return nil, errTorn
	}
	size := max(oldSize, bitmapBytes(s.clusters))
	needed := (size + s.cluster - 1) / s.cluster
	more := needed - has
	used := []run{{s.clusters, size*8 - s.clusters}}
	var blocks []Block
	if more > 0 {
		added := run{old, more}
		runs, used = append(runs, added), append(used, added)
	}
	if size > oldSize {
		if r, err = replaceRuns(r, a, runs); err != nil {
			return nil, err
		}
		setExtent(r[a:], runs, size, size, s.cluster)
		blocks = s.recordBlocks(fileBitmap, r)
	}
	// The byte where the new clusters begin has bits of old ones.
	kept, from := make([]byte, 1), old/8
	if from < oldSize {
		if err := s.read(kept, runs, from); err != nil {
			return nil, err
		}
	}
	for bit := range old % 8 {
		if kept[0]&(1<<bit) != 0 {
			used = append(used, run{from*8 + bit, 1})
		}
	}
	return append(blocks, bitmapBlocks(from, needed*s.cluster, used, runs, s.cluster)...), nil
}

// growBadClusters makes the sparse file that is as large as the volume larger.
func (s *system) growBadClusters(old int64) ([]Block, error) {
	r, err := s.record(fileBadClus)
	if err != nil {
		return nil, err
	}
	a, runs, err := s.attributeRuns(r, "$Bad", old)
	if err != nil {
		return nil, err
	}
	rest := s.clusters - clustersIn(runs) // at least one
	if last := &runs[len(runs)-1]; last.first == hole {
		last.count += rest
	} else {
		runs = append(runs, run{hole, rest})
	}
	if r, err = replaceRuns(r, a, runs); err != nil {
		return nil, err
	}
	setExtent(r[a:], runs, s.clusters*s.cluster, int64(le.Uint64(r[a+56:])), s.cluster)
	return s.recordBlocks(fileBadClus, r), nil
}

// replaceRuns replaces the runs of an attribute, which may need more room in its record.
func replaceRuns(record []byte, a int, runs []run) ([]byte, error) {
	pairs, at := encodeRuns(runs), int(le.Uint16(record[a+32:]))
	length, used := int(le.Uint32(record[a+4:])), int(le.Uint32(record[0x18:]))
	next := align(at+len(pairs), 8)
	if used+next-length > len(record) {
		return nil, errors.New("its file record is full")
	}
	grown := make([]byte, len(record))
	copy(grown, record[:a+at])
	copy(grown[a+at:], pairs)
	copy(grown[a+next:], record[a+length:used])
	le.PutUint32(grown[a+4:], uint32(next))
	le.PutUint32(grown[0x18:], uint32(used+next-length))
	return grown, nil
}
