// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"fmt"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

const mbrLinux, mbrLVM = 0x83, 0x8e

// partitionKind names the purpose of a partition.
func partitionKind(p win32.Partition) string {
	if p.Style != win32.PARTITION_STYLE_GPT {
		switch p.MBRType {
		case mbrLinux, mbrLVM:
			return fmt.Sprintf("Linux, MBR type 0x%02x", p.MBRType)
		case 0x11, 0x14, 0x16, 0x17, 0x1b, 0x1c, 0x1e: // pt-mbr-partnames.h of util-linux
			return fmt.Sprintf("hidden, MBR type 0x%02x", p.MBRType)
		}
		return fmt.Sprintf("MBR type 0x%02x", p.MBRType)
	}
	names := map[guid.GUID]string{
		win32.PartitionBasicData: "basic data", win32.PartitionMSR: "Microsoft Reserved",
		win32.PartitionEFISystem: "EFI system", win32.PartitionRecovery: "recovery",
		win32.PartitionLDMMetadata: "dynamic disk", win32.PartitionLDMData: "dynamic disk",
	}
	linux := map[string]string{ // pt-gpt-partnames.h of util-linux
		"0fc63daf-8483-4772-8e79-3d69d8477de4": "Linux filesystem", "e6d6d379-f507-44c2-a23c-238f2a3df928": "Linux LVM",
		"a19d880f-05fc-4d3b-a006-743f0f84911e": "Linux RAID", "0657fd6d-a4ab-43c4-84e5-0933c84b4f4f": "Linux swap",
	}
	return cmp.Or(names[p.Type], linux[p.Type.String()], "type "+p.Type.String())
}

// busTypeName names the bus of a disk (STORAGE_BUS_TYPE).
func busTypeName(busType uint32) string {
	names := map[uint32]string{
		win32.BusTypeScsi: "SCSI", win32.BusTypeiScsi: "iSCSI", win32.BusTypeSas: "SAS", win32.BusTypeSata: "SATA",
		win32.BusTypeFibre: "Fibre Channel", win32.BusTypeUsb: "USB", win32.BusTypeRAID: "RAID", win32.BusTypeAta: "ATA",
		win32.BusTypeVirtual: "virtual", win32.BusTypeFileBackedVirtual: "file-backed virtual",
		win32.BusTypeSpaces: "Storage Spaces", win32.BusTypeNvme: "NVMe",
	}
	return cmp.Or(names[busType], fmt.Sprintf("bus type %d", busType))
}
