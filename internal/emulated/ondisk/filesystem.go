// SPDX-License-Identifier: Apache-2.0

package ondisk

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// BootSector is all that the node knows about a file system, from its boot sector.
type BootSector struct {
	FileSystem     string // "NTFS", "ReFS", "FAT32", "exFAT"
	BytesPerSector uint32
	ClusterBytes   uint32
	Sectors        uint64 // size of the file system, without the backup boot sector of NTFS
	MFTCluster     uint64 // NTFS only
	Serial         uint64
}

// ClusterSize is Windows' default for NTFS volumes of up to 16 TiB, the largest disk here.
const ClusterSize = 4096

// Clusters returns the number of clusters.
func (b BootSector) Clusters() uint64 {
	return b.Sectors / uint64(b.ClusterBytes/b.BytesPerSector)
}

// ParseBootSector recognises, by the first sector of a partition with the given number of sectors, the file systems
// that Windows would mount. Everything else, such as ext4 and LUKS, is raw: ok is false.
func ParseBootSector(s []byte, partitionSectors uint64) (b BootSector, ok bool) {
	le, sectorSize := binary.LittleEndian, uint32(len(s))
	b = BootSector{BytesPerSector: sectorSize, ClusterBytes: ClusterSize, Sectors: partitionSectors}
	signed := s[510] == 0x55 && s[511] == 0xAA
	switch {
	case signed && string(s[3:11]) == "NTFS    ":
		b.FileSystem = "NTFS"
		b.Sectors, b.MFTCluster, b.Serial = le.Uint64(s[40:]), le.Uint64(s[48:]), le.Uint64(s[72:])
		perCluster := uint32(s[13])
		if perCluster > 128 { // a negative power of two
			perCluster = 1 << min(256-perCluster, 12)
		}
		if perCluster > 0 { // keep the default for a damaged one, so that nothing divides by zero
			b.ClusterBytes = perCluster * sectorSize
		}
		valid := uint32(le.Uint16(s[11:])) == sectorSize && perCluster > 0 && perCluster&(perCluster-1) == 0 &&
			b.Sectors > 0 && b.Sectors <= partitionSectors && b.MFTCluster < b.Clusters()
		b.Sectors = min(b.Sectors, partitionSectors) // a damaged one is no larger than its partition either
		return b, valid
	case string(s[3:11]) == "ReFS\x00\x00\x00\x00" && string(s[16:20]) == "FSRS":
		b.FileSystem, b.Serial = "ReFS", le.Uint64(s[56:])
		return b, true
	case signed && string(s[3:11]) == "EXFAT   " && bytes.Equal(s[11:64], make([]byte, 53)):
		b.FileSystem, b.Serial = "exFAT", uint64(le.Uint32(s[100:]))
		return b, true
	case signed && string(s[82:90]) == "FAT32   " && uint32(le.Uint16(s[11:])) == sectorSize:
		b.FileSystem, b.Serial = "FAT32", uint64(le.Uint32(s[67:]))
		return b, true
	}
	return BootSector{}, false
}

// MetadataBytes returns the space that the metadata of an empty NTFS takes on Windows, by the place of the MFT, which
// stays when the volume grows: an eighth of the volume, and not more than 16 MiB.
func (b BootSector) MetadataBytes() uint64 {
	if b.FileSystem != "NTFS" {
		return 0
	}
	cluster := uint64(b.ClusterBytes)
	return min(16<<20, b.MFTCluster*3*cluster/8) / cluster * cluster
}

// An NTFS that the node makes is a mark, because its files lie beside the image: a boot sector with its copy, and the
// first records of the MFT without attributes. Without those records libblkid does not recognise it.
// https://flatcap.github.io/linux-ntfs/ntfs/

const (
	bootBytes    = 8192                  // of the file $Boot
	firstMFTMost = 3 << 30 / ClusterSize // the cluster of the MFT on a large volume
	mftRecords   = 4
)

// bootCode is cli, hlt and a jump back: nothing boots from here. By it the node knows the file systems that it made.
const bootCode = "\xFA\xF4\xEB\xFD"

// NewNTFS returns the blocks of an empty NTFS in a part of a disk. The last sector of the part is not in the file
// system: it holds the copy of the boot sector. The boot sector comes first: with it alone the part has a file system,
// and without it the part would be neither blank nor formatted.
func NewNTFS(sectorSize, offset, length int64) []Block {
	sectors := length/sectorSize - 1
	mft := min(sectors*sectorSize/ClusterSize/3, firstMFTMost)
	boot := newBootSector(sectorSize, offset/sectorSize, sectors, mft)
	return []Block{
		{Offset: offset, Data: append(boot[:sectorSize:sectorSize], make([]byte, bootBytes-sectorSize)...)},
		{Offset: offset + mft*ClusterSize, Data: newMFT(sectorSize)},
		{Offset: offset + sectors*sectorSize, Data: boot},
	}
}

// NewExFAT returns the main boot sector of an exFAT, by which Windows recognises one. Nothing mounts it.
// https://learn.microsoft.com/windows/win32/fileio/exfat-specification
func NewExFAT(sectorSize, offset, length int64) []byte {
	s, le := make([]byte, sectorSize), binary.LittleEndian
	copy(s, "\xEB\x76\x90EXFAT   ")
	le.PutUint64(s[64:], uint64(offset/sectorSize))
	le.PutUint64(s[72:], uint64(length/sectorSize))
	le.PutUint32(s[100:], uint32(NewSerial()))
	le.PutUint16(s[104:], 0x0100) // the revision
	s[108] = uint8(bits.TrailingZeros64(uint64(sectorSize)))
	s[109] = uint8(bits.TrailingZeros64(uint64(ClusterSize / sectorSize)))
	s[110] = 1 // FAT
	s[510], s[511] = 0x55, 0xAA
	return s
}

// newBootSector returns the first sector of an NTFS.
// https://learn.microsoft.com/previous-versions/windows/it-pro/windows-server-2003/cc781134(v=ws.10)
func newBootSector(sectorSize, hidden, sectors, mft int64) []byte {
	s, le := make([]byte, sectorSize), binary.LittleEndian
	copy(s, "\xEB\x52\x90NTFS    ") // a jump over the parameters, and the name
	le.PutUint16(s[11:], uint16(sectorSize))
	s[13] = byte(ClusterSize / sectorSize)
	s[21] = 0xF8 // a fixed disk
	le.PutUint16(s[24:], 63)
	le.PutUint16(s[26:], 255)
	le.PutUint32(s[28:], uint32(min(hidden, 0xFFFFFFFF)))
	le.PutUint32(s[36:], 0x00800080)
	le.PutUint64(s[40:], uint64(sectors))
	le.PutUint64(s[48:], uint64(mft))
	le.PutUint64(s[56:], bootBytes/ClusterSize) // the copy of the MFT's first records, which is not there
	if s[64] = 0xF6; sectorSize == 4096 {       // a file record has 2^10 bytes
		s[64] = 1 // or a cluster
	}
	s[68] = 1 // clusters of a block of an index
	le.PutUint64(s[72:], NewSerial())
	copy(s[84:], bootCode)
	s[510], s[511] = 0x55, 0xAA
	return s
}

// newMFT returns the first file records, which have no attributes.
func newMFT(sectorSize int64) []byte {
	const array, end = 0x30, 0xFFFFFFFF
	size, le := int(max(1024, sectorSize)), binary.LittleEndian
	mft := make([]byte, size*mftRecords)
	for number := range mftRecords {
		r := mft[number*size:]
		attributes := (array + (size/512+1)*2 + 7) / 8 * 8
		copy(r, "FILE")
		le.PutUint16(r[0x04:], array)
		le.PutUint16(r[0x06:], uint16(size/512+1))
		le.PutUint16(r[0x10:], uint16(max(number, 1)))
		le.PutUint16(r[0x14:], uint16(attributes))
		le.PutUint16(r[0x16:], 1) // in use
		le.PutUint32(r[0x18:], uint32(attributes+8))
		le.PutUint32(r[0x1C:], uint32(size))
		le.PutUint32(r[0x2C:], uint32(number))
		le.PutUint32(r[attributes:], end)
	}
	return mft
}

// GrowNTFS returns the blocks by which the NTFS at an offset, with this boot sector, gets a number of sectors. Of one
// that was made elsewhere, the metadata would have to follow: ok is false.
func GrowNTFS(boot []byte, offset, sectors int64) (blocks []Block, ok bool) {
	if string(boot[84:][:len(bootCode)]) != bootCode {
		return nil, false
	}
	boot = bytes.Clone(boot)
	binary.LittleEndian.PutUint64(boot[40:], uint64(sectors))
	return []Block{{Offset: offset + sectors*int64(len(boot)), Data: boot}, {Offset: offset, Data: boot}}, true
}
