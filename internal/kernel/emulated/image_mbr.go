// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"encoding/binary"
	"slices"

	"github.com/Microsoft/go-winio/pkg/guid"
)

// mbrPartition is one of the four entries of a master boot record.
type mbrPartition struct {
	slot           int
	boot           bool
	kind           uint8
	first, sectors uint32
}

// mbr is a master boot record other than a GPT's protective one. Extended partitions are entries like others.
type mbr struct {
	signature  uint32
	partitions []mbrPartition
}

const (
	mbrSignatureAt = 440
	mbrTableAt     = 446
	mbrProtective  = 0xEE
)

// parseMBR parses a first sector; ok is false without the boot signature. Entries that overlap or reach beyond the disk
// are left out: boot code that is taken for a table looks like that.
func parseMBR(s []byte, diskSectors uint64) (m mbr, protective, ok bool) {
	if len(s) < 512 || s[510] != 0x55 || s[511] != 0xAA {
		return mbr{}, false, false
	}
	le := binary.LittleEndian
	m.signature = le.Uint32(s[mbrSignatureAt:])
	for slot := range 4 {
		e := s[mbrTableAt+16*slot:]
		p := mbrPartition{slot: slot, boot: e[0] == 0x80, kind: e[4], first: le.Uint32(e[8:]), sectors: le.Uint32(e[12:])}
		protective = protective || p.kind == mbrProtective
		inside := p.kind != 0 && p.sectors > 0 && p.first > 0 && uint64(p.first)+uint64(p.sectors) <= diskSectors
		if inside && !slices.ContainsFunc(m.partitions, p.overlaps) {
			m.partitions = append(m.partitions, p)
		}
	}
	return m, protective, true
}

func (p mbrPartition) overlaps(q mbrPartition) bool {
	return uint64(p.first) < uint64(q.first)+uint64(q.sectors) && uint64(q.first) < uint64(p.first)+uint64(p.sectors)
}

// encode puts the record into a sector and keeps its boot code.
func (m mbr) encode(sector []byte) []byte {
	le := binary.LittleEndian
	s := slices.Clone(sector)
	clear(s[mbrSignatureAt:512])
	le.PutUint32(s[mbrSignatureAt:], m.signature)
	for _, p := range m.partitions {
		e := s[mbrTableAt+16*p.slot:]
		if p.boot {
			e[0] = 0x80
		}
		copy(e[1:4], []byte{0xFE, 0xFF, 0xFF}) // cylinder, head and sector are unused
		e[4] = p.kind
		copy(e[5:8], []byte{0xFE, 0xFF, 0xFF})
		le.PutUint32(e[8:], p.first)
		le.PutUint32(e[12:], p.sectors)
	}
	s[510], s[511] = 0x55, 0xAA
	return s
}

// mbrVolume returns the GUID of the volume on an MBR partition. The partition has none of its own, so it is derived
// from the disk's signature and the offset in bytes, as a version 5 UUID (RFC 9562, section 5.5).
func mbrVolume(signature uint32, offset int64) guid.GUID {
	name := binary.LittleEndian.AppendUint32(nil, signature)
	name = binary.LittleEndian.AppendUint64(name, uint64(offset))
	namespace := guid.GUID{Data1: 0x53f5630d, Data2: 0xb6bf, Data3: 0x11d0, // GUID_DEVINTERFACE_VOLUME
		Data4: [8]byte{0x94, 0xf2, 0x00, 0xa0, 0xc9, 0x1e, 0xfb, 0x8b}}
	id, _ := guid.NewV5(namespace, name) // hashing does not fail
	return id
}

// hasMBRVolume reports whether a partition of that type gets a volume on Windows.
func hasMBRVolume(kind uint8) bool {
	switch kind {
	case 0x01, 0x04, 0x06, 0x07, 0x0B, 0x0C, 0x0E:
		return true
	}
	return false
}
