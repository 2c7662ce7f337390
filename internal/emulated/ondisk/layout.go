// SPDX-License-Identifier: Apache-2.0

package ondisk

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// Block is a run of bytes and its place on the medium.
type Block struct {
	Offset int64
	Data   []byte
}

// Layout is the content of the partition tables in an image.
type Layout struct {
	Style win32.PartitionStyle
	GPT   *GPT // with style GPT
	MBR   MBR  // with style MBR
}

// ReadLayout reads the tables. A GPT is there when sector 0 has a protective entry and one of the headers is good; a
// protective MBR without a good header reads as RAW. Whether Windows agrees on that last point is not confirmed.
func ReadLayout(r io.ReaderAt, size int64, sectorSize int, zeroedIsMBR bool) (Layout, error) {
	l := Layout{Style: win32.PARTITION_STYLE_RAW}
	first := make([]byte, sectorSize)
	if _, err := r.ReadAt(first, 0); err != nil {
		return Layout{}, err
	}
	m, protective, ok := parseMBR(first, size)
	switch {
	case ok && protective:
		if l.GPT = readGPT(r, sectorSize, size); l.GPT != nil {
			l.Style = win32.PARTITION_STYLE_GPT
		}
	case ok:
		l.Style, l.MBR = win32.PARTITION_STYLE_MBR, m
	case zeroedIsMBR && bytes.Equal(first, make([]byte, sectorSize)):
		l.Style = win32.PARTITION_STYLE_MBR
	}
	return l, nil
}

// DriveLayout returns the layout for IOCTL_DISK_GET_DRIVE_LAYOUT_EX. An MBR always has four entries.
func (l Layout) DriveLayout() win32.DriveLayout {
	out := win32.DriveLayout{Style: l.Style}
	switch l.Style {
	case win32.PARTITION_STYLE_GPT:
		t, sector := l.GPT, int64(l.GPT.SectorSize)
		out.DiskID, out.MaxPartitionCount = t.DiskID, uint32(t.Slots)
		out.StartingUsableOffset = int64(t.FirstUsable) * sector
		out.UsableLength = int64(t.LastUsable-t.FirstUsable+1) * sector
		out.Partitions = slices.Clone(t.Partitions)
	case win32.PARTITION_STYLE_MBR:
		out.Signature, out.Partitions = l.MBR.Signature, l.MBR.Partitions[:]
	}
	return out
}

// VolumePartitions returns the partitions that get volumes on Windows, with the volumes' ids: not the reserved one, and
// only those large enough for a boot sector.
func (l Layout) VolumePartitions() []win32.Partition {
	var volumes []win32.Partition
	for _, p := range l.DriveLayout().Partitions {
		switch {
		case p.Recognized: // of an MBR
			p.ID = MBRVolumeID(l.MBR.Signature, p.StartingOffset)
		case p.Type != win32.PartitionBasicData && p.Type != win32.PartitionEFISystem:
			continue
		}
		volumes = append(volumes, p)
	}
	return volumes
}

// Identities returns the identities that no two online disks may share.
func (l Layout) Identities() []guid.GUID {
	if l.Style != win32.PARTITION_STYLE_GPT {
		return nil
	}
	ids := []guid.GUID{l.GPT.DiskID}
	for _, p := range l.GPT.Partitions {
		ids = append(ids, p.ID)
	}
	return ids
}

// NewGUID returns a random GUID, as of a new disk or partition.
func NewGUID() guid.GUID {
	id, _ := guid.NewV4() // never fails, as it reads from crypto/rand
	return id
}

// NewSerial returns a random volume serial number.
func NewSerial() uint64 { return rand.Uint64() } //nolint:gosec // it need not be unpredictable

// MBR is a master boot record other than a GPT's protective one. Extended partitions are entries like others; those
// that are not used have no length.
type MBR struct {
	Signature  uint32
	Partitions [4]win32.Partition
}

// MBRProtective is the type of the one entry that the MBR of a GPT disk has.
const MBRProtective = 0xEE

// withVolume are the types of partitions that get a volume on Windows.
const withVolume = "\x01\x04\x06\x07\x0B\x0C\x0E"

const (
	mbrSignatureAt = 440
	mbrTableAt     = 446
)

// parseMBR parses the first sector of a disk; ok is false without the boot signature. Entries that overlap or reach
// beyond the disk are left out: boot code that is taken for a table looks like that.
func parseMBR(s []byte, diskBytes int64) (m MBR, protective, ok bool) {
	if s[510] != 0x55 || s[511] != 0xAA {
		return MBR{}, false, false
	}
	le := binary.LittleEndian
	m.Signature = le.Uint32(s[mbrSignatureAt:])
	for i := range m.Partitions {
		e := s[mbrTableAt+16*i:]
		kind, first := e[4], le.Uint32(e[8:])
		p := win32.Partition{
			Style: win32.PARTITION_STYLE_MBR, Number: uint32(i) + 1, MBRType: kind, Boot: e[0] == 0x80,
			StartingOffset: int64(first) * int64(len(s)), Length: int64(le.Uint32(e[12:])) * int64(len(s)),
			Recognized: strings.IndexByte(withVolume, kind) >= 0, HiddenSectors: first,
		}
		protective = protective || kind == MBRProtective
		inside := kind != 0 && p.Length > 0 && first > 0 && p.StartingOffset+p.Length <= diskBytes
		if inside && !m.Overlaps(p) {
			m.Partitions[i] = p
		}
	}
	return m, protective, true
}

// Overlaps reports whether a partition shares a byte with one of the record.
func (m *MBR) Overlaps(p win32.Partition) bool {
	return slices.ContainsFunc(m.Partitions[:], func(o win32.Partition) bool { return overlap(o, p) })
}

// Encode puts the record into a sector and keeps its boot code.
func (m *MBR) Encode(sector []byte) []byte {
	le := binary.LittleEndian
	s := slices.Clone(sector)
	clear(s[mbrSignatureAt:512])
	le.PutUint32(s[mbrSignatureAt:], m.Signature)
	for i, p := range m.Partitions {
		if p.Length == 0 {
			continue
		}
		e := s[mbrTableAt+16*i:]
		if p.Boot {
			e[0] = 0x80
		}
		copy(e[1:4], []byte{0xFE, 0xFF, 0xFF}) // cylinder, head and sector are unused
		e[4] = p.MBRType
		copy(e[5:8], []byte{0xFE, 0xFF, 0xFF})
		le.PutUint32(e[8:], uint32(p.StartingOffset/int64(len(s))))
		le.PutUint32(e[12:], uint32(p.Length/int64(len(s))))
	}
	s[510], s[511] = 0x55, 0xAA
	return s
}

// MBRVolumeID returns the GUID of the volume on an MBR partition. The partition has none of its own, so it is derived
// from the disk's signature and the offset in bytes, as a version 5 UUID (RFC 9562, section 5.5).
func MBRVolumeID(signature uint32, offset int64) guid.GUID {
	name := binary.LittleEndian.AppendUint32(nil, signature)
	name = binary.LittleEndian.AppendUint64(name, uint64(offset))
	namespace := guid.GUID{Data1: 0x53f5630d, Data2: 0xb6bf, Data3: 0x11d0, // GUID_DEVINTERFACE_VOLUME
		Data4: [8]byte{0x94, 0xf2, 0x00, 0xa0, 0xc9, 0x1e, 0xfb, 0x8b}}
	id, _ := guid.NewV5(namespace, name) // hashing does not fail
	return id
}
