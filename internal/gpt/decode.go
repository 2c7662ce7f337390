// SPDX-License-Identifier: Apache-2.0

package gpt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"unicode/utf16"

	"github.com/Microsoft/go-winio/pkg/guid"
)

// ErrNoTable means that a medium holds no GUID partition table: neither header has the signature.
var ErrNoTable = errors.New("no GUID partition table")

// Read reads the table of a medium of the given size: the primary one, or the backup if the primary is damaged. It
// looks for the backup where the primary header points, and in the last sector. ErrNoTable: no sign of a table; other
// errors: a table that cannot be used, or a failed read.
func Read(r io.ReaderAt, sectorSize int, sizeBytes int64) (*Table, error) {
	sectors := uint64(sizeBytes) / uint64(sectorSize)
	if sizeBytes < 0 || sectors < 4 {
		return nil, ErrNoTable
	}
	m := medium{r: r, sectorSize: sectorSize, sectors: sectors}
	table, err := m.table(1)
	if err == nil {
		return table, nil
	}
	candidates := []uint64{sectors - 1}
	if h, headerErr := m.header(1); headerErr == nil && h.other < sectors && h.other != sectors-1 {
		candidates = append([]uint64{h.other}, candidates...)
	}
	for _, lba := range candidates {
		table, backupErr := m.table(lba)
		if backupErr == nil {
			table.FromBackup = true
			return table, nil
		}
		if errors.Is(err, ErrNoTable) {
			err = backupErr
		}
	}
	return nil, err
}

type medium struct {
	r          io.ReaderAt
	sectorSize int
	sectors    uint64
}

type header struct {
	other, firstUsable, lastUsable, arrayLBA uint64
	diskID                                   guid.GUID
	slots                                    int
	arrayCRC                                 uint32
}

func (m medium) header(lba uint64) (header, error) {
	b := make([]byte, m.sectorSize)
	if _, err := m.r.ReadAt(b, int64(lba)*int64(m.sectorSize)); err != nil {
		return header{}, fmt.Errorf("header in sector %d: %w", lba, err)
	}
	if string(b[:8]) != signature {
		return header{}, ErrNoTable
	}
	le := binary.LittleEndian
	size := le.Uint32(b[12:])
	if size < headerSize || size > uint32(m.sectorSize) {
		return header{}, fmt.Errorf("header in sector %d: size %d", lba, size)
	}
	sum := le.Uint32(b[16:])
	le.PutUint32(b[16:], 0)
	if crc32.ChecksumIEEE(b[:size]) != sum {
		return header{}, fmt.Errorf("header in sector %d: wrong checksum", lba)
	}
	slots, entry := le.Uint32(b[80:]), le.Uint32(b[84:])
	h := header{
		other: le.Uint64(b[32:]), firstUsable: le.Uint64(b[40:]), lastUsable: le.Uint64(b[48:]),
		arrayLBA: le.Uint64(b[72:]), diskID: guid.FromWindowsArray([16]byte(b[56:72])),
		slots: int(min(slots, maxSlots+1)), arrayCRC: le.Uint32(b[88:]),
	}
	arraySectors := (uint64(slots)*entrySize + uint64(m.sectorSize) - 1) / uint64(m.sectorSize)
	switch {
	case le.Uint64(b[24:]) != lba:
		return header{}, fmt.Errorf("header in sector %d: claims to be in sector %d", lba, le.Uint64(b[24:]))
	case entry != entrySize || slots == 0 || slots > maxSlots:
		return header{}, fmt.Errorf("header in sector %d: %d entries of %d bytes", lba, slots, entry)
	case h.other >= 1<<62 || h.firstUsable > h.lastUsable || h.lastUsable >= m.sectors ||
		h.arrayLBA < 2 || h.arrayLBA > m.sectors-arraySectors || arraySectors > m.sectors ||
		h.firstUsable < 2+arraySectors:
		return header{}, fmt.Errorf("header in sector %d: points outside the medium", lba)
	}
	return h, nil
}

func (m medium) table(lba uint64) (*Table, error) {
	h, err := m.header(lba)
	if err != nil {
		return nil, err
	}
	array := make([]byte, h.slots*entrySize)
	if _, err := m.r.ReadAt(array, int64(h.arrayLBA)*int64(m.sectorSize)); err != nil {
		return nil, fmt.Errorf("entries of the header in sector %d: %w", lba, err)
	}
	if crc32.ChecksumIEEE(array) != h.arrayCRC {
		return nil, fmt.Errorf("entries of the header in sector %d: wrong checksum", lba)
	}
	t := &Table{
		DiskID: h.diskID, SectorSize: m.sectorSize, Slots: h.slots,
		FirstUsable: h.firstUsable, LastUsable: h.lastUsable,
	}
	t.Sectors = max(lba, h.other) + 1
	if t.Sectors < h.lastUsable+t.arraySectors()+2 || t.Sectors > m.sectors {
		return nil, fmt.Errorf("header in sector %d: no room for a backup", lba)
	}
	for slot := range h.slots {
		if p, used := decodeEntry(array[slot*entrySize : (slot+1)*entrySize]); used {
			p.Slot = slot
			t.Partitions = append(t.Partitions, p)
		}
	}
	if err := t.Check(); err != nil {
		return nil, err
	}
	return t, nil
}

func decodeEntry(e []byte) (p Partition, used bool) {
	le := binary.LittleEndian
	p = Partition{
		Type: guid.FromWindowsArray([16]byte(e[:16])), ID: guid.FromWindowsArray([16]byte(e[16:32])),
		First: le.Uint64(e[32:]), Last: le.Uint64(e[40:]), Attributes: le.Uint64(e[48:]),
	}
	var units []uint16
	for i := range nameUnits {
		u := le.Uint16(e[56+2*i:])
		if u == 0 {
			break
		}
		units = append(units, u)
	}
	p.Name = string(utf16.Decode(units))
	return p, p.Type != (guid.GUID{})
}
