// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/gpt"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
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

// volumePartitions returns the partitions that get volumes on Windows: not the reserved one, and only those large
// enough for a boot sector.
func (l layout) volumePartitions() []win32.Partition {
	var volumes []win32.Partition
	for _, p := range l.driveLayout().Partitions {
		mbrVolume := p.Style == win32.PARTITION_STYLE_MBR && hasMBRVolume(p.MBRType)
		gptVolume := p.Style == win32.PARTITION_STYLE_GPT &&
			(p.Type == win32.PartitionBasicData || p.Type == win32.PartitionEFISystem)
		if mbrVolume || gptVolume {
			volumes = append(volumes, p)
		}
	}
	return volumes
}

// identities returns the identities that no two online disks may share.
func (l layout) identities() []guid.GUID {
	switch {
	case l.style == win32.PARTITION_STYLE_MBR && l.mbr.signature != 0:
		return []guid.GUID{signatureIdentity(l.mbr.signature)}
	case l.style == win32.PARTITION_STYLE_GPT:
		ids := []guid.GUID{l.gpt.DiskID}
		for _, p := range l.gpt.Partitions {
			ids = append(ids, p.ID)
		}
		return ids
	}
	return nil
}

// signatureIdentity returns an MBR signature in the form of a GUID; no generated GUID has this form.
func signatureIdentity(signature uint32) guid.GUID { return guid.GUID{Data1: signature} }

// newSignature returns a random signature other than 0, which would mean none.
func newSignature() uint32 { return uint32(newSerial()) | 1 }

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
