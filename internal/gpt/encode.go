// SPDX-License-Identifier: Apache-2.0

package gpt

import (
	"encoding/binary"
	"hash/crc32"
	"unicode/utf16"
)

// Block is a run of bytes and its place on the medium.
type Block struct {
	Offset int64
	Data   []byte
}

const (
	signature     = "EFI PART"
	revision      = 0x00010000
	headerSize    = 92
	mbrTypeGPT    = 0xEE
	mbrEntry      = 446
	bootSignature = 510
)

// Encode returns the blocks of the table: the protective MBR with the primary header and array, and the backup array
// with its header. Boot code in the MBR is lost.
func (t *Table) Encode() []Block {
	sector := int64(t.SectorSize)
	array := t.encodeArray()
	backupLBA := t.Sectors - 1
	backupArrayLBA := backupLBA - t.arraySectors()

	front := make([]byte, sector*2+int64(len(array)))
	t.protectiveMBR(front[:512])
	t.header(front[sector:sector*2], array, 1, backupLBA, 2)
	copy(front[sector*2:], array)

	back := make([]byte, int64(len(array))+sector)
	copy(back, array)
	t.header(back[len(array):], array, backupLBA, 1, backupArrayLBA)
	return []Block{{0, front}, {int64(backupArrayLBA) * sector, back}}
}

// BackupBlock returns the place of the backup array and header, filled with zeros: writing it clears the old backup
// when the medium becomes larger.
func (t *Table) BackupBlock() Block {
	first := t.Sectors - 1 - t.arraySectors()
	return Block{int64(first) * int64(t.SectorSize), make([]byte, (t.arraySectors()+1)*uint64(t.SectorSize))}
}

func (t *Table) protectiveMBR(b []byte) {
	e := b[mbrEntry:]
	e[1], e[2], e[3] = 0x00, 0x02, 0x00 // first sector as cylinder, head, sector
	e[4] = mbrTypeGPT
	e[5], e[6], e[7] = 0xFF, 0xFF, 0xFF
	binary.LittleEndian.PutUint32(e[8:], 1)
	binary.LittleEndian.PutUint32(e[12:], uint32(min(t.Sectors-1, 0xFFFFFFFF)))
	b[bootSignature], b[bootSignature+1] = 0x55, 0xAA
}

func (t *Table) header(b, array []byte, self, other, arrayLBA uint64) {
	le := binary.LittleEndian
	copy(b, signature)
	le.PutUint32(b[8:], revision)
	le.PutUint32(b[12:], headerSize)
	le.PutUint64(b[24:], self)
	le.PutUint64(b[32:], other)
	le.PutUint64(b[40:], t.FirstUsable)
	le.PutUint64(b[48:], t.LastUsable)
	id := t.DiskID.ToWindowsArray()
	copy(b[56:], id[:])
	le.PutUint64(b[72:], arrayLBA)
	le.PutUint32(b[80:], uint32(t.Slots))
	le.PutUint32(b[84:], entrySize)
	le.PutUint32(b[88:], crc32.ChecksumIEEE(array[:t.Slots*entrySize]))
	le.PutUint32(b[16:], crc32.ChecksumIEEE(b[:headerSize])) // computed while the field itself is zero
}

// encodeArray returns the entry array, padded to whole sectors.
func (t *Table) encodeArray() []byte {
	le := binary.LittleEndian
	b := make([]byte, t.arraySectors()*uint64(t.SectorSize))
	for _, p := range t.Partitions {
		e := b[p.Slot*entrySize : (p.Slot+1)*entrySize]
		kind, id := p.Type.ToWindowsArray(), p.ID.ToWindowsArray()
		copy(e, kind[:])
		copy(e[16:], id[:])
		le.PutUint64(e[32:], p.First)
		le.PutUint64(e[40:], p.Last)
		le.PutUint64(e[48:], p.Attributes)
		units := utf16.Encode([]rune(p.Name))
		for i, u := range units[:min(len(units), nameUnits)] {
			le.PutUint16(e[56+2*i:], u)
		}
	}
	return b
}
