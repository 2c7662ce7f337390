// SPDX-License-Identifier: Apache-2.0

package ondisk

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"unicode/utf16"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// errNoGPT means that a medium holds no GUID partition table: neither header has the signature.
var errNoGPT = errors.New("no GUID partition table")

// readGPT reads the table of a medium of the given size: the primary one, or the backup if the primary is damaged. It
// looks for the backup where the primary header points, and in the last sector. errNoGPT: no sign of a table; other
// errors: a table that cannot be used, or a failed read.
func readGPT(r io.ReaderAt, sectorSize int, sizeBytes int64) (*GPT, error) {
	sectors := uint64(sizeBytes) / uint64(sectorSize)
	if sizeBytes < 0 || sectors < 4 {
		return nil, errNoGPT
	}
	m := medium{r: r, sectorSize: sectorSize, sectors: sectors}
	table, err := m.table(1)
	if err == nil {
		return table, nil
	}
	candidates := []uint64{sectors - 1}
	if h, headerErr := m.header(1); headerErr == nil && h.Other < sectors && h.Other != sectors-1 {
		candidates = append([]uint64{h.Other}, candidates...)
	}
	for _, lba := range candidates {
		table, backupErr := m.table(lba)
		if backupErr == nil {
			table.FromBackup = true
			return table, nil
		}
		if errors.Is(err, errNoGPT) {
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

// header reads the header in a sector, and checks it.
func (m medium) header(lba uint64) (h rawHeader, err error) {
	b := make([]byte, m.sectorSize)
	if _, err := m.r.ReadAt(b, int64(lba)*int64(m.sectorSize)); err != nil {
		return h, fmt.Errorf("header in sector %d: %w", lba, err)
	}
	if h, err = cstruct.Parse[rawHeader]("GPT header", b, headerSize); err != nil || string(h.Signature[:]) != signature {
		return h, errNoGPT
	}
	if h.Size < headerSize || h.Size > uint32(m.sectorSize) {
		return h, fmt.Errorf("header in sector %d: size %d", lba, h.Size)
	}
	clear(b[offsetCRC : offsetCRC+4])
	if crc32.ChecksumIEEE(b[:h.Size]) != h.CRC {
		return h, fmt.Errorf("header in sector %d: wrong checksum", lba)
	}
	arraySectors := (uint64(h.Slots)*entrySize + uint64(m.sectorSize) - 1) / uint64(m.sectorSize)
	switch {
	case h.Self != lba:
		return h, fmt.Errorf("header in sector %d: claims to be in sector %d", lba, h.Self)
	case h.EntrySize != entrySize || h.Slots == 0 || h.Slots > maxSlots:
		return h, fmt.Errorf("header in sector %d: %d entries of %d bytes", lba, h.Slots, h.EntrySize)
	case h.Other >= 1<<62 || h.FirstUsable > h.LastUsable || h.LastUsable >= m.sectors ||
		h.Array < 2 || h.Array > m.sectors-arraySectors || arraySectors > m.sectors ||
		h.FirstUsable < 2+arraySectors:
		return h, fmt.Errorf("header in sector %d: points outside the medium", lba)
	}
	return h, nil
}

func (m medium) table(lba uint64) (*GPT, error) {
	h, err := m.header(lba)
	if err != nil {
		return nil, err
	}
	array := make([]byte, int(h.Slots)*entrySize)
	if _, err := m.r.ReadAt(array, int64(h.Array)*int64(m.sectorSize)); err != nil {
		return nil, fmt.Errorf("entries of the header in sector %d: %w", lba, err)
	}
	if crc32.ChecksumIEEE(array) != h.ArrayCRC {
		return nil, fmt.Errorf("entries of the header in sector %d: wrong checksum", lba)
	}
	t := &GPT{
		DiskID: h.DiskID, SectorSize: m.sectorSize, Slots: int(h.Slots),
		FirstUsable: h.FirstUsable, LastUsable: h.LastUsable,
	}
	t.Sectors = max(lba, h.Other) + 1
	if t.Sectors < h.LastUsable+t.arraySectors()+2 || t.Sectors > m.sectors {
		return nil, fmt.Errorf("header in sector %d: no room for a backup", lba)
	}
	for slot := range t.Slots {
		e, err := cstruct.Parse[rawEntry]("GPT entry", array[slot*entrySize:], entrySize)
		if err != nil {
			return nil, err
		}
		if e.Type == (guid.GUID{}) {
			continue // not used
		}
		if e.First > e.Last || e.Last > t.LastUsable {
			return nil, fmt.Errorf("partition %d: sectors %d to %d, past the usable end %d", slot+1, e.First, e.Last,
				t.LastUsable)
		}
		name := append(e.Name[:], 0)
		t.Partitions = append(t.Partitions, win32.Partition{
			Style: win32.PARTITION_STYLE_GPT, Number: uint32(slot) + 1, Type: e.Type, ID: e.ID, Attributes: e.Attributes,
			StartingOffset: int64(e.First) * int64(m.sectorSize), Length: int64(e.Last-e.First+1) * int64(m.sectorSize),
			Name: string(utf16.Decode(name[:slices.Index(name, 0)])),
		})
	}
	if err := t.Check(); err != nil {
		return nil, err
	}
	return t, nil
}
