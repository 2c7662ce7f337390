// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// partitionKind names the purpose of a partition.
func partitionKind(p win32.Partition) string {
	if p.Style != win32.PARTITION_STYLE_GPT {
		return fmt.Sprintf("MBR type 0x%02x", p.MBRType)
	}
	switch p.Type {
	case win32.PartitionBasicData:
		return "basic data"
	case win32.PartitionMSR:
		return "Microsoft Reserved"
	case win32.PartitionEFISystem:
		return "EFI system"
	case win32.PartitionRecovery:
		return "recovery"
	case win32.PartitionLDMMetadata, win32.PartitionLDMData:
		return "dynamic disk"
	default:
		return "type " + p.Type.String()
	}
}

// busTypeName names the bus of a disk (STORAGE_BUS_TYPE).
func busTypeName(busType uint32) string {
	switch busType {
	case win32.BusTypeScsi:
		return "SCSI"
	case win32.BusTypeiScsi:
		return "iSCSI"
	case win32.BusTypeSas:
		return "SAS"
	case win32.BusTypeSata:
		return "SATA"
	case win32.BusTypeVirtual:
		return "virtual"
	case win32.BusTypeFileBackedVirtual:
		return "file-backed virtual"
	case win32.BusTypeSpaces:
		return "Storage Spaces"
	case win32.BusTypeNvme:
		return "NVMe"
	default:
		return fmt.Sprintf("bus type %d", busType)
	}
}
