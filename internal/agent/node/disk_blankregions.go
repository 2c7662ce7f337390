// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"slices"
)

// Regions checked before a disk or volume counts as blank. Reading everything would take hours. Most formats leave a
// mark at the beginning or the end; one that was wiped there is found by its second copies or its data.
const (
	// of the beginning and of the end: VMFS begins at 1 MiB, LUKS2 has a second header at up to 4 MiB
	edgeLength   = 4 << 20
	sampleLength = 64 << 10 // of each second copy, and of each sample
	samples      = 64       // at equal distances over the whole disk or volume
)

// span is a range of bytes, end excluded.
type span struct{ start, end int64 }

// probesOf returns the parts of a disk or volume of a size that must be zero for it to count as blank, in order. They
// begin and end at multiples of every sector size.
func probesOf(size int64) []span {
	probes := placesOf(size)
	for i := range int64(samples) {
		probes = append(probes, sample(size/samples*i, size))
	}
	return merge(probes)
}

// placesOf returns the beginning and the end, and the places where file systems that fill the whole keep second copies.
func placesOf(size int64) []span {
	places := []span{{0, min(edgeLength, size)}, {max(size-edgeLength, 0), size}}
	for _, at := range copies(size) {
		if at < size {
			places = append(places, sample(at, size))
		}
	}
	return places
}

// sample returns the span of a sample that begins at an offset, or up to a page earlier.
func sample(at, size int64) span {
	const page = 4096
	at -= at % page
	return span{at, min(at+sampleLength, size)}
}

// copies returns where file systems that fill a disk or volume of a size put their second copies, some of them beyond
// it. ReFS, exFAT and GPT have theirs within the beginning and the end, and so has NTFS as Windows makes it.
func copies(size int64) []int64 {
	const mib, gib, tib = 1 << 20, 1 << 30, 1 << 40
	offsets := []int64{
		64 * mib, 256 * gib, // Btrfs: the superblock's mirrors
		// XFS: allocation groups, a quarter of the whole or 1 TiB; NTFS: $MFTMirr by other tools
		size / 4, size / 2, size / 4 * 3, tib - 4096,
		size / 3, 3 * gib, // NTFS: the MFT itself
	}
	// ext2, ext3, ext4: the superblock of some block groups, and with sparse_super2 of the last one. A group has as many
	// blocks as a block has bits.
	for _, block := range []int64{1 << 10, 2 << 10, 4 << 10, 64 << 10} {
		group := 8 * block * block
		for _, n := range []int64{1, 3, 5, 7} {
			offsets = append(offsets, n*group)
		}
		offsets = append(offsets, size/group*group)
	}
	return offsets
}

// merge sorts spans and joins those that overlap or touch.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	var joined []span
	for _, s := range spans {
		if last := len(joined) - 1; last >= 0 && s.start <= joined[last].end {
			joined[last].end = max(joined[last].end, s.end)
		} else if s.start < s.end {
			joined = append(joined, s)
		}
	}
	return joined
}

// subtract returns the parts of the spans outside the used ones.
func subtract(spans, used []span) []span {
	for _, u := range used {
		var left []span
		for _, s := range spans {
			for _, part := range []span{{s.start, min(s.end, u.start)}, {max(s.start, u.end), s.end}} {
				if part.start < part.end {
					left = append(left, part)
				}
			}
		}
		spans = left
	}
	return spans
}
