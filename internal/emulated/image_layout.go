// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/gpt"
)

// layout is the content of the partition tables in an image.
type layout struct {
	style      win32.PartitionStyle
	sectorSize int64
	gpt        *gpt.Table // with style GPT
	mbr        mbr        // with style MBR
}

// readLayout reads the tables. A GPT is there when sector 0 has a protective entry and one of the headers is good; a
// protective MBR without a good header reads as RAW. Whether Windows agrees on that last point is not confirmed.
func readLayout(r io.ReaderAt, size int64, sectorSize int, zeroedIsMBR bool) (layout, error) {
	l := layout{style: win32.PARTITION_STYLE_RAW, sectorSize: int64(sectorSize)}
	first := make([]byte, sectorSize)
	if _, err := r.ReadAt(first, 0); err != nil && !errors.Is(err, io.EOF) {
		return layout{}, err
	}
	m, protective, ok := parseMBR(first, uint64(size/int64(sectorSize)))
	switch {
	case ok && protective:
		t, err := gpt.Read(r, sectorSize, size)
		if err == nil {
			l.style, l.gpt = win32.PARTITION_STYLE_GPT, t
		}
	case ok:
		l.style, l.mbr = win32.PARTITION_STYLE_MBR, m
	case zeroedIsMBR && bytes.Equal(first, make([]byte, sectorSize)):
		l.style = win32.PARTITION_STYLE_MBR
	}
	return l, nil
}

// driveLayout returns the layout for IOCTL_DISK_GET_DRIVE_LAYOUT_EX. An MBR always has four entries.
func (l layout) driveLayout() win32.DriveLayout {
	out := win32.DriveLayout{Style: l.style}
	switch l.style {
	case win32.PARTITION_STYLE_GPT:
		t := l.gpt
		out.DiskID, out.MaxPartitionCount = t.DiskID, uint32(t.Slots)
		out.StartingUsableOffset = int64(t.FirstUsable) * l.sectorSize
		out.UsableLength = int64(t.LastUsable-t.FirstUsable+1) * l.sectorSize
		for _, p := range t.Sorted() {
			out.Partitions = append(out.Partitions, win32.Partition{
				Style: l.style, Number: uint32(p.Slot) + 1,
				StartingOffset: int64(p.First) * l.sectorSize, Length: int64(p.Sectors()) * l.sectorSize,
				Type: p.Type, ID: p.ID, Attributes: p.Attributes, Name: p.Name,
			})
		}
	case win32.PARTITION_STYLE_MBR:
		out.Signature = l.mbr.signature
		out.Partitions = make([]win32.Partition, 4)
		for i := range out.Partitions {
			out.Partitions[i].Style = l.style
		}
		for _, p := range l.mbr.partitions {
			out.Partitions[p.slot] = win32.Partition{
				Style: l.style, Number: uint32(p.slot) + 1,
				StartingOffset: int64(p.first) * l.sectorSize, Length: int64(p.sectors) * l.sectorSize,
				MBRType: p.kind, Boot: p.boot, Recognized: hasMBRVolume(p.kind), HiddenSectors: p.first,
			}
		}
	}
	return out
}

// volumePartitions returns the partitions that get volumes on Windows, with the volumes' ids: not the reserved one, and
// only those large enough for a boot sector.
func (l layout) volumePartitions() []win32.Partition {
	var volumes []win32.Partition
	for _, p := range l.driveLayout().Partitions {
		mbrVolume := p.Style == win32.PARTITION_STYLE_MBR && hasMBRVolume(p.MBRType)
		gptVolume := p.Style == win32.PARTITION_STYLE_GPT &&
			(p.Type == win32.PartitionBasicData || p.Type == win32.PartitionEFISystem)
		if mbrVolume {
			p.ID = mbrVolumeID(l.mbr.signature, p.StartingOffset)
		}
		if mbrVolume || gptVolume {
			volumes = append(volumes, p)
		}
	}
	return volumes
}

// identities returns the identities that no two online disks may share.
func (l layout) identities() []guid.GUID {
	if l.style != win32.PARTITION_STYLE_GPT {
		return nil
	}
	ids := []guid.GUID{l.gpt.DiskID}
	for _, p := range l.gpt.Partitions {
		ids = append(ids, p.ID)
	}
	return ids
}

// newSerial returns a random volume serial number.
func newSerial() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return binary.LittleEndian.Uint64(b[:])
}

func newGUID() guid.GUID {
	id, _ := guid.NewV4() // never fails, as it reads from crypto/rand
	return id
}

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

// mbrVolumeID returns the GUID of the volume on an MBR partition. The partition has none of its own, so it is derived
// from the disk's signature and the offset in bytes, as a version 5 UUID (RFC 9562, section 5.5).
func mbrVolumeID(signature uint32, offset int64) guid.GUID {
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
