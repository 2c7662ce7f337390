// SPDX-License-Identifier: Apache-2.0

package ntfs

import (
	"slices"
	"time"
)

// Format returns the blocks of an empty file system. The boot sector comes last.
func (v Volume) Format(now time.Time) []Block {
	p := v.places()
	sds, bySum, byNumber := secureStreams()
	files := v.files(p, int64(sdsCopy+len(sds)), bySum, byNumber)
	names := map[string][]byte{}
	var mft []byte
	for number := range uint16(mftRecords) {
		r := newRecord(v.recordSize(), number, 0)
		switch {
		case int(number) < len(files):
			f := files[number]
			r = newRecord(v.recordSize(), number, recordInUse|f.flags)
			name := f.fileName(now)
			names[f.name] = nameEntry(reference(number), name)
			r.resident(typeStandardInformation, "", f.standardInformation(now))
			r.resident(typeFileName, "", name)
			if f.data.count > 0 {
				r.outside(typeData, "", []run{f.data}, f.size, f.size)
			}
			if f.more != nil {
				f.more(r)
			}
		case number < firstUnused:
			r = newRecord(v.recordSize(), number, recordInUse)
			r.resident(typeStandardInformation, "", file{}.standardInformation(now))
			r.resident(typeData, "", nil)
		}
		mft = append(mft, r.bytes()...)
	}
	// As NTFS sorts them, by their capitals.
	sorted := []string{"$AttrDef", "$BadClus", "$Bitmap", "$Boot", "$Extend", "$LogFile", "$MFT", "$MFTMirr", "$Secure",
		"$UpCase", "$Volume", "."}
	var root [][]byte
	for _, name := range sorted {
		root = append(root, names[name])
	}
	whole := func(r run, data []byte) Block { return Block{r.first * ClusterSize, r.count * ClusterSize, data} }
	page := restartPage(p.log.count * ClusterSize)
	bitmap := bitmapBytes(v.clusters())
	used := append(p.used(), run{v.clusters(), bitmap*8 - v.clusters()})
	boot := v.bootSector(p)
	return slices.Concat([]Block{
		whole(p.mirror, mft[:mirrored*v.recordSize()]),
		whole(p.mftBitmap, []byte{0xFF, 0xFF}),
		whole(p.rootIndex, firstBlock(root...)),
		whole(p.attrDef, attrDef()),
		whole(p.upCase, upCase()),
	}, bitmapBlocks(0, p.bitmap.count*ClusterSize, used, []run{p.bitmap}, ClusterSize), []Block{
		whole(p.mft, mft),
		{p.secure.first * ClusterSize, sdsCopy, sds},
		{p.secure.first*ClusterSize + sdsCopy, p.secure.count*ClusterSize - sdsCopy, sds},
		{p.log.first * ClusterSize, 2 * logPage, slices.Concat(page, page)},
		{int64(v.Sectors) * int64(v.SectorSize), int64(v.SectorSize), boot},
		whole(p.boot, boot),
	})
}

// reference returns a file's reference: its number and, above it, the sequence number of its record.
func reference(number uint16) uint64 { return uint64(number) | uint64(max(number, 1))<<48 }
