// SPDX-License-Identifier: Apache-2.0

package ondisk

import (
	"encoding/binary"
	"hash/crc32"
	"unicode/utf16"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// rawHeader is a header on the medium.
type rawHeader struct {
	Signature                            [8]byte
	Revision, Size, CRC, _               uint32
	Self, Other, FirstUsable, LastUsable uint64
	DiskID                               guid.GUID
	Array                                uint64 // the first sector of the entry array
	Slots, EntrySize, ArrayCRC           uint32
}

// rawEntry is an entry of the array.
type rawEntry struct {
	Type, ID                guid.GUID
	First, Last, Attributes uint64
	Name                    [nameUnits]uint16
}

const (
	signature  = "EFI PART"
	revision   = 0x00010000
	headerSize = 92
	offsetCRC  = 16
)

// Encode returns the blocks of the table: the backup array with its header, and the protective MBR with the primary
// header and array. Written in this order, they change the table at once. Boot code in the MBR is lost.
func (t *GPT) Encode() []Block {
	sector := int64(t.SectorSize)
	array := t.encodeArray()
	backupLBA := t.Sectors - 1
	backupArrayLBA := backupLBA - t.arraySectors()

	front := make([]byte, sector*2+int64(len(array)))
	t.protectiveMBR(front[:512])
	copy(front[sector:], t.header(array, 1, backupLBA, 2))
	copy(front[sector*2:], array)

	backup := make([]byte, int64(len(array))+sector)
	copy(backup, array)
	copy(backup[len(array):], t.header(array, backupLBA, 1, backupArrayLBA))
	return []Block{{int64(backupArrayLBA) * sector, backup}, {0, front}}
}

// BackupBlock returns the place of the backup array and header, filled with zeros: writing it clears the old backup
// when the medium becomes larger.
func (t *GPT) BackupBlock() Block {
	first := t.Sectors - 1 - t.arraySectors()
	return Block{int64(first) * int64(t.SectorSize), make([]byte, (t.arraySectors()+1)*uint64(t.SectorSize))}
}

func (t *GPT) protectiveMBR(b []byte) {
	e := b[mbrTableAt:]
	e[1], e[2], e[3] = 0x00, 0x02, 0x00 // first sector as cylinder, head, sector
	e[4] = MBRProtective
	e[5], e[6], e[7] = 0xFF, 0xFF, 0xFF
	binary.LittleEndian.PutUint32(e[8:], 1)
	binary.LittleEndian.PutUint32(e[12:], uint32(min(t.Sectors-1, 0xFFFFFFFF)))
	b[510], b[511] = 0x55, 0xAA
}

// header returns the header that is in the sector self.
func (t *GPT) header(array []byte, self, other, arrayLBA uint64) []byte {
	h := rawHeader{
		Signature: [8]byte([]byte(signature)), Revision: revision, Size: headerSize, Self: self, Other: other,
		FirstUsable: t.FirstUsable, LastUsable: t.LastUsable, DiskID: t.DiskID, Array: arrayLBA,
		Slots: uint32(t.Slots), EntrySize: entrySize, ArrayCRC: crc32.ChecksumIEEE(array[:t.Slots*entrySize]),
	}
	h.CRC = crc32.ChecksumIEEE(cstruct.Encode(h)) // computed while the field itself is zero
	return cstruct.Encode(h)
}

// encodeArray returns the entry array, padded to whole sectors.
func (t *GPT) encodeArray() []byte {
	entries := make([]rawEntry, t.Slots)
	for _, p := range t.Partitions {
		first := uint64(p.StartingOffset) / uint64(t.SectorSize)
		e := &entries[p.Number-1]
		*e = rawEntry{Type: p.Type, ID: p.ID, First: first, Last: first + uint64(p.Length)/uint64(t.SectorSize) - 1,
			Attributes: p.Attributes}
		copy(e.Name[:], utf16.Encode([]rune(p.Name)))
	}
	b := make([]byte, t.arraySectors()*uint64(t.SectorSize))
	copy(b, cstruct.Encode(entries))
	return b
}
