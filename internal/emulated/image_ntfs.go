// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/gpt"
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

// An NTFS that the node makes is a mark, because its files lie beside the image: a boot sector with its copy, and the
// first records of the MFT without attributes. Without those records libblkid does not recognise it.
// https://flatcap.github.io/linux-ntfs/ntfs/

const (
	bootBytes    = 8192                  // of the file $Boot
	firstMFTMost = 3 << 30 / clusterSize // the cluster of the MFT on a large volume
	mftRecords   = 4
)

// bootCode is cli, hlt and a jump back: nothing boots from here. By it the node knows the file systems that it made.
const bootCode = "\xFA\xF4\xEB\xFD"

// newNTFS returns the blocks of an empty NTFS in a part of a disk. The last sector of the part is not in the file
// system: it holds the copy of the boot sector. The boot sector comes last.
func newNTFS(sectorSize, offset, length int64) []gpt.Block {
	sectors := length/sectorSize - 1
	mft := min(sectors*sectorSize/clusterSize/3, firstMFTMost)
	boot := newBootSector(sectorSize, offset/sectorSize, sectors, mft)
	return []gpt.Block{
		{Offset: offset + mft*clusterSize, Data: newMFT(sectorSize)},
		{Offset: offset + sectors*sectorSize, Data: boot},
		{Offset: offset, Data: append(boot[:sectorSize:sectorSize], make([]byte, bootBytes-sectorSize)...)},
	}
}

// newFileSystem returns the blocks of an empty file system of a new disk.
func (r diskState) newFileSystem(offset, length int64) []gpt.Block {
	if r.FileSystem == fileSystemExFAT {
		return []gpt.Block{{Offset: offset, Data: newExFAT(int64(r.SectorSize), offset, length)}}
	}
	return newNTFS(int64(r.SectorSize), offset, length)
}

// newExFAT returns the main boot sector of an exFAT, by which Windows recognises one. Nothing mounts it.
// https://learn.microsoft.com/windows/win32/fileio/exfat-specification
func newExFAT(sectorSize, offset, length int64) []byte {
	s, le := make([]byte, sectorSize), binary.LittleEndian
	copy(s, "\xEB\x76\x90EXFAT   ")
	le.PutUint64(s[64:], uint64(offset/sectorSize))
	le.PutUint64(s[72:], uint64(length/sectorSize))
	le.PutUint32(s[100:], uint32(newSerial()))
	le.PutUint16(s[104:], 0x0100) // the revision
	s[108] = uint8(bits.TrailingZeros64(uint64(sectorSize)))
	s[109] = uint8(bits.TrailingZeros64(uint64(clusterSize / sectorSize)))
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
	s[13] = byte(clusterSize / sectorSize)
	s[21] = 0xF8 // a fixed disk
	le.PutUint16(s[24:], 63)
	le.PutUint16(s[26:], 255)
	le.PutUint32(s[28:], uint32(min(hidden, 0xFFFFFFFF)))
	le.PutUint32(s[36:], 0x00800080)
	le.PutUint64(s[40:], uint64(sectors))
	le.PutUint64(s[48:], uint64(mft))
	le.PutUint64(s[56:], bootBytes/clusterSize) // the copy of the MFT's first records, which is not there
	if s[64] = 0xF6; sectorSize == 4096 {       // a file record has 2^10 bytes
		s[64] = 1 // or a cluster
	}
	s[68] = 1 // clusters of a block of an index
	le.PutUint64(s[72:], newSerial())
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

// grownNTFS returns the blocks by which the NTFS of the volume gets a number of sectors. Of an NTFS that was made
// elsewhere, the metadata would have to follow: it is refused.
func (v *volume) grownNTFS(sectors int64) ([]gpt.Block, error) {
	sectorSize := v.disk.sectorSize()
	boot := make([]byte, sectorSize)
	if _, err := v.disk.image.readAt(boot, v.offset); err != nil {
		return nil, err
	}
	if string(boot[84:][:len(bootCode)]) != bootCode {
		return nil, win32.ERROR_NOT_SUPPORTED
	}
	binary.LittleEndian.PutUint64(boot[40:], uint64(sectors))
	return []gpt.Block{{Offset: v.offset + sectors*sectorSize, Data: boot}, {Offset: v.offset, Data: boot}}, nil
}

// extent is the place of a new partition, in bytes.
type extent struct {
	kind     guid.GUID
	name     string
	from, to uint64
}

const (
	minFormattedBytes = 64 << 20  // leaves room for a volume after the reserved partition
	minBootBytes      = 256 << 20 // and after the partition to boot from
)

// createFormattedDisk writes the tables of a disk that has been in use, or of disk 0 as Windows Setup makes them, and
// an empty file system in the data partition at the end. It returns that partition's volume.
func (h *host) createFormattedDisk(home string, record diskState) (guid.GUID, error) {
	im, err := h.openImage(home)
	if err != nil {
		return guid.GUID{}, err
	}
	defer im.file.Close()
	if record.Table == tableMBR {
		return h.createMBR(im, record)
	}
	return h.createGPT(im, record)
}

// createGPT makes the reserved partitions and, after them, a basic data partition.
func (h *host) createGPT(im *image, record diskState) (guid.GUID, error) {
	const mib = 1 << 20
	reserved := []extent{{win32.PartitionMSR, msrName, mib, 16 * mib}}
	if record.System || record.Boot {
		reserved = []extent{
			{win32.PartitionEFISystem, "EFI system partition", mib, 101 * mib},
			{win32.PartitionMSR, msrName, 101 * mib, 117 * mib},
		}
	}
	sector := uint64(record.SectorSize)
	t, err := gpt.New(newGUID(), int(sector), im.size)
	if err != nil {
		return guid.GUID{}, err
	}
	add := func(p extent, attributes uint64) {
		t.Partitions = append(t.Partitions, gpt.Partition{
			Slot: len(t.Partitions), Type: p.kind, ID: newGUID(), Name: p.name, Attributes: attributes,
			First: p.from / sector, Last: p.to/sector - 1,
		})
	}
	from := uint64(mib)
	for _, p := range reserved {
		add(p, win32.GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER)
		from = p.to
	}
	add(extent{win32.PartitionBasicData, "Basic data partition", from, (t.LastUsable + 1) * sector / mib * mib}, 0)
	if err := t.Check(); err != nil {
		return guid.GUID{}, err
	}
	last := t.Partitions[len(t.Partitions)-1]
	blocks := record.newFileSystem(int64(last.First*sector), int64(last.Sectors()*sector))
	return last.ID, im.write(append(t.Encode(), blocks...))
}

// createMBR makes, on a disk to boot from, the active partition that Windows Setup calls System Reserved, and then one
// for data.
func (h *host) createMBR(im *image, record diskState) (guid.GUID, error) {
	const mib, ifs = 1 << 20, 0x07
	sector := int64(record.SectorSize)
	m := mbr{signature: uint32(newSerial()) | 1} // 0 would mean none
	var blocks []gpt.Block
	add := func(from, to int64, active bool, fileSystem []gpt.Block) guid.GUID {
		m.partitions = append(m.partitions, mbrPartition{
			slot: len(m.partitions), boot: active, kind: ifs, first: uint32(from / sector),
			sectors: uint32((to - from) / sector),
		})
		blocks = append(blocks, fileSystem...)
		return mbrVolumeID(m.signature, from)
	}
	from := int64(mib)
	if record.System || record.Boot {
		add(mib, 101*mib, true, newNTFS(sector, mib, 100*mib))
		from = 101 * mib
	}
	to := min(im.size/mib, 2<<20) * mib // an MBR ends at 2 TiB
	id := add(from, to, false, record.newFileSystem(from, to-from))
	blocks = append(blocks, gpt.Block{Offset: 0, Data: m.encode(make([]byte, sector))})
	return id, im.write(blocks)
}
