// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"encoding/binary"

	"github.com/kubernetes-csi/csi-proxy/internal/gpt"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

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

// newBootSector returns the first sector of a file system.
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
