// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// DriveLayout is DRIVE_LAYOUT_INFORMATION_EX: the partition table of a disk.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-drive_layout_information_ex
type DriveLayout struct {
	Style PartitionStyle

	// GPT.
	DiskID               guid.GUID
	StartingUsableOffset int64 // bytes; the table lies before it
	UsableLength         int64 // bytes from there on that partitions may use
	MaxPartitionCount    uint32

	// MBR.
	Signature uint32
	CheckSum  uint32

	// Partitions are exactly those that PartitionCount counts. An MBR table includes its empty entries.
	Partitions []Partition
}

const offsetPartitionEntry = 48 // PartitionEntry

// SizeofDriveLayout is the size in bytes of a DRIVE_LAYOUT_INFORMATION_EX with that many partitions.
func SizeofDriveLayout(partitions int) int {
	return offsetPartitionEntry + partitions*sizeofPartition
}

// Bytes encodes a DRIVE_LAYOUT_INFORMATION_EX, 48 bytes and 144 for each partition.
func (l DriveLayout) Bytes() []byte {
	b := make(cstruct.Buffer, SizeofDriveLayout(len(l.Partitions)))
	b.PutU32(0, uint32(l.Style))           // PartitionStyle
	b.PutU32(4, uint32(len(l.Partitions))) // PartitionCount
	switch l.Style {
	case PARTITION_STYLE_GPT:
		b.PutGUID(8, l.DiskID)               // Gpt.DiskId
		b.PutI64(24, l.StartingUsableOffset) // Gpt.StartingUsableOffset
		b.PutI64(32, l.UsableLength)         // Gpt.UsableLength
		b.PutU32(40, l.MaxPartitionCount)    // Gpt.MaxPartitionCount
	case PARTITION_STYLE_MBR:
		b.PutU32(8, l.Signature) // Mbr.Signature
		b.PutU32(12, l.CheckSum) // Mbr.CheckSum
	}
	for i, p := range l.Partitions {
		at := SizeofDriveLayout(i)
		p.put(b[at : at+sizeofPartition])
	}
	return b
}

// ParseDriveLayout decodes the output of IOCTL_DISK_GET_DRIVE_LAYOUT_EX, the input of IOCTL_DISK_SET_DRIVE_LAYOUT_EX.
func ParseDriveLayout(in []byte) (DriveLayout, error) {
	const structure = "DRIVE_LAYOUT_INFORMATION_EX"
	b, err := cstruct.Need(structure, in, offsetPartitionEntry)
	if err != nil {
		return DriveLayout{}, err
	}
	l := DriveLayout{Style: PartitionStyle(b.U32(0))}
	switch l.Style {
	case PARTITION_STYLE_GPT:
		l.DiskID = b.GUID(8)
		l.StartingUsableOffset, l.UsableLength = b.I64(24), b.I64(32)
		l.MaxPartitionCount = b.U32(40)
	case PARTITION_STYLE_MBR:
		l.Signature, l.CheckSum = b.U32(8), b.U32(12)
	case PARTITION_STYLE_RAW:
	default:
		return DriveLayout{}, cstruct.Malformed(structure, "partition style %d", l.Style)
	}
	count := b.U32(4) // PartitionCount
	if fit := (len(b) - offsetPartitionEntry) / sizeofPartition; int64(count) > int64(fit) {
		return DriveLayout{}, cstruct.Malformed(structure, "%d partitions, and room for %d", count, fit)
	}
	for i := range int(count) {
		at := SizeofDriveLayout(i)
		p, err := ParsePartition(b[at : at+sizeofPartition])
		if err != nil {
			return DriveLayout{}, err
		}
		l.Partitions = append(l.Partitions, p)
	}
	return l, nil
}

// CreateDisk is CREATE_DISK, the input of IOCTL_DISK_CREATE_DISK.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-create_disk
type CreateDisk struct {
	Style             PartitionStyle
	DiskID            guid.GUID // GPT
	MaxPartitionCount uint32    // GPT; at least 128
	Signature         uint32    // MBR
}

// SizeofCreateDisk is the size of a CREATE_DISK in bytes.
const SizeofCreateDisk = 24

// Bytes encodes a CREATE_DISK, 24 bytes.
func (c CreateDisk) Bytes() []byte {
	b := make(cstruct.Buffer, SizeofCreateDisk)
	b.PutU32(0, uint32(c.Style)) // PartitionStyle
	switch c.Style {
	case PARTITION_STYLE_GPT:
		b.PutGUID(4, c.DiskID)            // Gpt.DiskId: a GUID is aligned to 4 bytes only
		b.PutU32(20, c.MaxPartitionCount) // Gpt.MaxPartitionCount
	case PARTITION_STYLE_MBR:
		b.PutU32(4, c.Signature) // Mbr.Signature
	}
	return b
}

// GrowPartition is DISK_GROW_PARTITION.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-disk_grow_partition
type GrowPartition struct {
	Number      uint32 // PartitionNumber
	_           uint32
	BytesToGrow int64 // the growth, not the new size
}

// Bytes encodes a DISK_GROW_PARTITION, 16 bytes.
func (g GrowPartition) Bytes() []byte { return cstruct.Encode(g) }
