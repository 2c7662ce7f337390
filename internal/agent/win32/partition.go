// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"fmt"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// PartitionStyle is the kind of a partition table (PARTITION_STYLE).
// https://learn.microsoft.com/windows/win32/api/winioctl/ne-winioctl-partition_style
type PartitionStyle uint32

// Kinds of partition table.
const (
	PARTITION_STYLE_MBR PartitionStyle = 0
	PARTITION_STYLE_GPT PartitionStyle = 1
	PARTITION_STYLE_RAW PartitionStyle = 2 // no table that Windows knows
)

// String returns the name that Windows' tools use for the style.
func (s PartitionStyle) String() string {
	switch s {
	case PARTITION_STYLE_MBR:
		return "MBR"
	case PARTITION_STYLE_GPT:
		return "GPT"
	case PARTITION_STYLE_RAW:
		return "RAW"
	}
	return fmt.Sprintf("partition style %d", uint32(s))
}

// Partition is PARTITION_INFORMATION_EX, one entry of a partition table.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-partition_information_ex
type Partition struct {
	Style          PartitionStyle
	StartingOffset int64  // bytes
	Length         int64  // bytes; 0 in an empty entry
	Number         uint32 // 1-based; 0 in an empty entry
	Rewrite        bool   // RewritePartition: write this entry
	Service        bool   // IsServicePartition

	// GPT.
	Type       guid.GUID // PartitionBasicData and so on
	ID         guid.GUID
	Attributes uint64
	Name       string // at most 36 UTF-16 units

	// MBR.
	MBRType       uint8
	Boot          bool
	Recognized    bool
	HiddenSectors uint32
	MBRID         guid.GUID // Windows makes it from signature and offset
}

// GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER keeps the mount manager from giving the volume a drive letter.
const GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER uint64 = 1 << 63

// Further attributes of GPT partitions.
const (
	GPT_ATTRIBUTE_PLATFORM_REQUIRED    uint64 = 1 << 0
	GPT_BASIC_DATA_ATTRIBUTE_HIDDEN    uint64 = 1 << 62
	GPT_BASIC_DATA_ATTRIBUTE_READ_ONLY uint64 = 1 << 60
)

const (
	sizeofPartition = 144
	offsetGPTName   = 72 // Gpt.Name, 36 units to the end
)

// put encodes a PARTITION_INFORMATION_EX, 144 bytes. A longer name is cut.
func (p Partition) put(b cstruct.Buffer) {
	b.PutU32(0, uint32(p.Style))  // PartitionStyle
	b.PutI64(8, p.StartingOffset) // StartingOffset
	b.PutI64(16, p.Length)        // PartitionLength
	b.PutU32(24, p.Number)        // PartitionNumber
	b.PutFlag(28, p.Rewrite)      // RewritePartition
	b.PutFlag(29, p.Service)      // IsServicePartition
	switch p.Style {
	case PARTITION_STYLE_GPT:
		b.PutGUID(32, p.Type)                                // Gpt.PartitionType
		b.PutGUID(48, p.ID)                                  // Gpt.PartitionId
		b.PutU64(64, p.Attributes)                           // Gpt.Attributes
		copy(b[offsetGPTName:], cstruct.EncodeUTF16(p.Name)) // Gpt.Name
	case PARTITION_STYLE_MBR:
		b[32] = p.MBRType             // Mbr.PartitionType
		b.PutFlag(33, p.Boot)         // Mbr.BootIndicator
		b.PutFlag(34, p.Recognized)   // Mbr.RecognizedPartition
		b.PutU32(36, p.HiddenSectors) // Mbr.HiddenSectors
		b.PutGUID(40, p.MBRID)        // Mbr.PartitionId
	}
}

// ParsePartition decodes a PARTITION_INFORMATION_EX.
func ParsePartition(in []byte) (Partition, error) {
	const structure = "PARTITION_INFORMATION_EX"
	b, err := cstruct.Need(structure, in, sizeofPartition)
	if err != nil {
		return Partition{}, err
	}
	p := Partition{
		Style: PartitionStyle(b.U32(0)), StartingOffset: b.I64(8), Length: b.I64(16), Number: b.U32(24),
		Rewrite: b.Flag(28), Service: b.Flag(29),
	}
	switch p.Style {
	case PARTITION_STYLE_GPT:
		p.Type, p.ID, p.Attributes = b.GUID(32), b.GUID(48), b.U64(64)
		p.Name = cstruct.DecodeUTF16(cstruct.UntilNUL(b[offsetGPTName:sizeofPartition]))
	case PARTITION_STYLE_MBR:
		p.MBRType, p.Boot, p.Recognized = b[32], b.Flag(33), b.Flag(34)
		p.HiddenSectors, p.MBRID = b.U32(36), b.GUID(40)
	case PARTITION_STYLE_RAW:
	default:
		return Partition{}, cstruct.Malformed(structure, "partition style %d", p.Style)
	}
	return p, nil
}

// Types of GPT partitions.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-partition_information_gpt
var (
	PartitionEFISystem   = partitionType(0xc12a7328, 0xf81f, 0x11d2, 0xba4b00a0c93ec93b)
	PartitionMSR         = partitionType(0xe3c9e316, 0x0b5c, 0x4db8, 0x817df92df00215ae) // Microsoft Reserved
	PartitionBasicData   = partitionType(0xebd0a0a2, 0xb9e5, 0x4433, 0x87c068b6b72699c7)
	PartitionLDMMetadata = partitionType(0x5808c8aa, 0x7e8f, 0x42e0, 0x85d2e1e90434cfb3)
	PartitionLDMData     = partitionType(0xaf9b60a0, 0x1431, 0x4f62, 0xbc683311714a69ad)
	PartitionRecovery    = partitionType(0xde94bba4, 0x06d1, 0x4d40, 0xa16abfd50179d6ac)
)

func partitionType(data1 uint32, data2, data3 uint16, data4 uint64) guid.GUID {
	g := guid.GUID{Data1: data1, Data2: data2, Data3: data3}
	for i := range g.Data4 {
		g.Data4[i] = byte(data4 >> (56 - 8*i))
	}
	return g
}

// IsData reports whether the entry may hold data: any partition, foreign and dynamic ones too, but Microsoft Reserved.
func (p Partition) IsData() bool {
	if p.Length <= 0 {
		return false
	}
	switch p.Style {
	case PARTITION_STYLE_GPT:
		return p.Type != PartitionMSR
	case PARTITION_STYLE_MBR:
		return p.MBRType != 0
	}
	return false
}
