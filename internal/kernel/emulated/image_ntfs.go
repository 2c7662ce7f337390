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

func (b bootSector) clusters() uint64 {
	return b.sectors / uint64(b.clusterBytes/b.bytesPerSector)
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

// metadataBytes returns the space that the metadata of an empty NTFS takes on Windows, by the place of the MFT, which
// stays when the volume grows: an eighth of the volume, and not more than 16 MiB.
func (b bootSector) metadataBytes() uint64 {
	if b.fileSystem != "NTFS" {
		return 0
	}
	cluster := uint64(b.clusterBytes)
	return min(16<<20, b.mftCluster*3*cluster/8) / cluster * cluster
}
