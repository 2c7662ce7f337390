// SPDX-License-Identifier: Apache-2.0

package ntfs

// bootSector returns the first sector of the volume.
// https://learn.microsoft.com/previous-versions/windows/it-pro/windows-server-2003/cc781134(v=ws.10)
func (v Volume) bootSector(p places) []byte {
	s := make([]byte, v.SectorSize)
	copy(s, []byte{0xEB, 0x52, 0x90}) // jump over the parameters
	copy(s[3:], "NTFS    ")
	le.PutUint16(s[11:], uint16(v.SectorSize))
	s[13] = byte(ClusterSize / v.SectorSize)
	s[21] = 0xF8 // a fixed disk
	le.PutUint16(s[24:], 63)
	le.PutUint16(s[26:], 255)
	le.PutUint32(s[28:], uint32(min(v.Hidden, 0xFFFFFFFF)))
	le.PutUint32(s[36:], 0x00800080)
	setSectors(s, v.Sectors)
	le.PutUint64(s[48:], uint64(p.mft.first))
	le.PutUint64(s[56:], uint64(p.mirror.first))
	if s[64] = 0xF6; v.SectorSize == 4096 { // a file record has 2^10 bytes
		s[64] = 1 // or a cluster
	}
	s[68] = indexBlock / ClusterSize
	le.PutUint64(s[72:], v.Serial)
	copy(s[84:], []byte{0xFA, 0xF4, 0xEB, 0xFD}) // cli, hlt and a jump back: nothing boots from here
	s[510], s[511] = 0x55, 0xAA
	return s
}

func setSectors(bootSector []byte, sectors uint64) { le.PutUint64(bootSector[40:], sectors) }

// growBootSector returns the blocks by which a boot sector and its copy get a number of sectors.
func growBootSector(first []byte, sectors uint64) []Block {
	size := int64(len(first))
	setSectors(first, sectors)
	return []Block{{int64(sectors) * size, size, first}, {0, size, first}}
}
