// SPDX-License-Identifier: Apache-2.0

package ondisk

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"unicode/utf16"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// readGPT reads the table of a medium of the given size: the primary one, or the backup if the primary is damaged. It
// looks for the backup where the primary header points, and in the last sector. Nil: there is none, or none that can be
// used.
func readGPT(r io.ReaderAt, sectorSize int, sizeBytes int64) *GPT {
	m := medium{r: r, sectorSize: sectorSize, sectors: uint64(sizeBytes) / uint64(sectorSize)}
	places := []uint64{1}
	if h, ok := m.header(1); ok {
		places = append(places, h.Other)
	}
	for _, lba := range append(places, m.sectors-1) {
		if t := m.table(lba); t != nil {
			return t
		}
	}
	return nil
}

type medium struct {
	r          io.ReaderAt
	sectorSize int
	sectors    uint64
}

// read reads from a sector on.
func (m medium) read(lba uint64, size int) (b []byte, ok bool) {
	b = make([]byte, size)
	_, err := m.r.ReadAt(b, int64(lba)*int64(m.sectorSize))
	return b, lba < m.sectors && err == nil
}

// header reads the header in a sector, and checks it.
func (m medium) header(lba uint64) (h rawHeader, ok bool) {
	b, ok := m.read(lba, m.sectorSize)
	h, err := cstruct.Parse[rawHeader]("GPT header", b, headerSize)
	if !ok || err != nil || string(h.Signature[:]) != signature || h.Size < headerSize || h.Size > uint32(m.sectorSize) {
		return h, false
	}
	clear(b[offsetCRC : offsetCRC+4])
	arraySectors := (uint64(h.Slots)*entrySize + uint64(m.sectorSize) - 1) / uint64(m.sectorSize)
	return h, crc32.ChecksumIEEE(b[:h.Size]) == h.CRC && h.Self == lba &&
		h.EntrySize == entrySize && h.Slots > 0 && h.Slots <= maxSlots && arraySectors <= m.sectors &&
		h.Other < 1<<62 && h.FirstUsable <= h.LastUsable && h.LastUsable < m.sectors &&
		h.Array >= 2 && h.Array <= m.sectors-arraySectors && h.FirstUsable >= 2+arraySectors
}

// table reads the table of the header in a sector; nil: it cannot be used.
func (m medium) table(lba uint64) *GPT {
	h, ok := m.header(lba)
	if !ok {
		return nil
	}
	array, ok := m.read(h.Array, int(h.Slots)*entrySize)
	if !ok || crc32.ChecksumIEEE(array) != h.ArrayCRC {
		return nil
	}
	t := &GPT{
		DiskID: h.DiskID, SectorSize: m.sectorSize, Slots: int(h.Slots), Sectors: max(lba, h.Other) + 1,
		FirstUsable: h.FirstUsable, LastUsable: h.LastUsable,
	}
	if t.Sectors < h.LastUsable+t.arraySectors()+2 || t.Sectors > m.sectors { // no room for a backup
		return nil
	}
	entries := make([]rawEntry, t.Slots)
	_, _ = binary.Decode(array, binary.LittleEndian, entries) // it is as long
	for slot, e := range entries {
		if e.Type == (guid.GUID{}) {
			continue // not used
		}
		if e.First > e.Last || e.Last > t.LastUsable {
			return nil
		}
		name := append(e.Name[:], 0)
		t.Partitions = append(t.Partitions, win32.Partition{
			Style: win32.PARTITION_STYLE_GPT, Number: uint32(slot) + 1, Type: e.Type, ID: e.ID, Attributes: e.Attributes,
			StartingOffset: int64(e.First) * int64(m.sectorSize), Length: int64(e.Last-e.First+1) * int64(m.sectorSize),
			Name: string(utf16.Decode(name[:slices.Index(name, 0)])),
		})
	}
	if !t.Valid() {
		return nil
	}
	return t
}
