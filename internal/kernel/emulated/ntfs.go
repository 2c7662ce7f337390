// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"bytes"
	"encoding/binary"
)

// bootSector is all that the node knows about a file system, from its boot sector.
type bootSector struct {
	fileSystem     string // "NTFS", "ReFS", "FAT32", "exFAT"
	bytesPerSector uint32
	clusterBytes   uint32
	sectors        uint64 // size of the file system, without the backup boot sector of NTFS
	mftCluster     uint64 // NTFS only
	serial         uint64
}

// clusterSize is Windows' default for NTFS volumes of up to 16 TiB, the largest disk here.
const clusterSize = 4096

// minVolumeBytes is the smallest volume that is formatted.
const minVolumeBytes = 1 << 20

// newNTFS returns the boot sector of an NTFS in a partition of the given number of sectors. The last one holds the backup
// boot sector and is not part of the file system.
func newNTFS(sectorSize uint32, partitionSectors, serial uint64) bootSector {
	b := bootSector{
		fileSystem: "NTFS", bytesPerSector: sectorSize, clusterBytes: clusterSize,
		sectors: partitionSectors - 1, serial: serial,
	}
	b.mftCluster = min(b.clusters()/3, 786432) // 3 GiB into the volume, or a third of a small one
	return b
}

func (b bootSector) clusters() uint64 {
	return b.sectors / uint64(b.clusterBytes/b.bytesPerSector)
}

// encode returns the sector as NTFS lays it out. Hidden is the number of sectors before the partition.
// https://learn.microsoft.com/previous-versions/windows/it-pro/windows-server-2003/cc781134(v=ws.10)
func (b bootSector) encode(hidden uint64) []byte {
	le := binary.LittleEndian
	s := make([]byte, b.bytesPerSector)
	copy(s, []byte{0xEB, 0x52, 0x90}) // jump over the parameters
	copy(s[3:], "NTFS    ")
	le.PutUint16(s[11:], uint16(b.bytesPerSector))
	s[13] = byte(b.clusterBytes / b.bytesPerSector)
	s[21] = 0xF8 // a fixed disk
	le.PutUint16(s[24:], 63)
	le.PutUint16(s[26:], 255)
	le.PutUint32(s[28:], uint32(min(hidden, 0xFFFFFFFF)))
	le.PutUint32(s[36:], 0x00800080)
	le.PutUint64(s[40:], b.sectors)
	le.PutUint64(s[48:], b.mftCluster)
	le.PutUint64(s[56:], 2) // the mirror of the MFT
	if b.bytesPerSector == 4096 {
		s[64] = 1 // clusters of a file record: 4096 bytes
	} else {
		s[64] = 0xF6 // 2^10 bytes
	}
	s[68] = 1 // cluster of an index block
	le.PutUint64(s[72:], b.serial)
	copy(s[84:], []byte{0xFA, 0xF4, 0xEB, 0xFD}) // cli, hlt and a jump back: nothing boots from here
	s[510], s[511] = 0x55, 0xAA
	return s
}

// parseBootSector recognises, by the first sector of a partition with the given number of sectors of a size, the file
// systems that Windows would mount. Everything else, such as ext4 and LUKS, is raw: ok is false.
func parseBootSector(s []byte, sectorSize uint32, partitionSectors uint64) (b bootSector, ok bool) {
	if len(s) < 512 || (sectorSize != 512 && sectorSize != 4096) {
		return bootSector{}, false
	}
	le := binary.LittleEndian
	b = bootSector{bytesPerSector: sectorSize, clusterBytes: clusterSize, sectors: partitionSectors}
	signed := s[510] == 0x55 && s[511] == 0xAA
	switch {
	case signed && string(s[3:11]) == "NTFS    ":
		b.fileSystem = "NTFS"
		b.sectors, b.mftCluster, b.serial = le.Uint64(s[40:]), le.Uint64(s[48:]), le.Uint64(s[72:])
		perCluster := uint32(s[13])
		if perCluster > 128 { // a negative power of two
			perCluster = 1 << min(256-perCluster, 12)
		}
		if perCluster > 0 { // keep the default for a damaged one, so that nothing divides by zero
			b.clusterBytes = perCluster * sectorSize
		}
		valid := uint32(le.Uint16(s[11:])) == sectorSize && perCluster > 0 && perCluster&(perCluster-1) == 0 &&
			b.sectors > 0 && b.sectors <= partitionSectors && b.mftCluster < b.clusters()
		return b, valid
	case string(s[3:11]) == "ReFS\x00\x00\x00\x00" && string(s[16:20]) == "FSRS":
		b.fileSystem, b.serial = "ReFS", le.Uint64(s[56:])
		return b, true
	case signed && string(s[3:11]) == "EXFAT   " && bytes.Equal(s[11:64], make([]byte, 53)):
		b.fileSystem, b.serial = "exFAT", uint64(le.Uint32(s[100:]))
		return b, true
	case signed && string(s[82:90]) == "FAT32   " && uint32(le.Uint16(s[11:])) == sectorSize:
		b.fileSystem, b.serial = "FAT32", uint64(le.Uint32(s[67:]))
		return b, true
	}
	return bootSector{}, false
}

// metadataBytes returns the space that an empty file system takes. It is computed from the place of the MFT, which stays
// when the volume is extended, so that the used space stays the same.
func (b bootSector) metadataBytes() uint64 {
	if b.fileSystem != "NTFS" {
		return 0
	}
	whole := b.mftCluster * 3 * uint64(b.clusterBytes) // the volume's size when it was formatted, if small
	return min(16<<20, whole/8) / uint64(b.clusterBytes) * uint64(b.clusterBytes)
}
