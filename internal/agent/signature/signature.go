// SPDX-License-Identifier: Apache-2.0

// Package signature recognises the format of raw bytes of a disk or volume, so that a refusal to overwrite them can
// name it. It does not decide what may be overwritten: bytes of an unknown format are data too.
package signature

import (
	"bytes"
	"fmt"
)

// magic is a mark that a format leaves at a fixed offset from the beginning of a disk or volume.
type magic struct {
	offset int64
	mark   string
	name   string
}

// magics returns the marks, those of formats that embed others first, at libblkid's and the specifications' offsets.
func magics() []magic {
	return []magic{
		{512, "EFI PART", "a GPT partition table"},
		{4096, "EFI PART", "a GPT partition table"},
		{3, "NTFS    ", "an NTFS file system"},
		{3, "ReFS\x00\x00\x00\x00", "a ReFS file system"},
		{3, "-FVE-FS-", "a BitLocker volume"},
		{3, "EXFAT   ", "an exFAT file system"},
		{82, "FAT32   ", "a FAT32 file system"},
		{54, "FAT1", "a FAT file system"},
		{0, "LUKS\xba\xbe", "a LUKS encrypted volume"},
		{0, "XFSB", "an XFS file system"},
		{0x438, "\x53\xef", "an ext2, ext3 or ext4 file system"},
		{0x10040, "_BHRfS_M", "a Btrfs file system"},
		{512, "LABELONE", "an LVM physical volume"},
		{0, "LABELONE", "an LVM physical volume"},
		{4096, "\xfc\x4e\x2b\xa9", "a Linux software RAID member"},
		{4086, "SWAPSPACE2", "a Linux swap area"},
		{0x600, "PRIVHEAD", "a Windows dynamic disk (LDM)"},
		{1 << 20, "\x0d\xd0\x01\xc0", "a VMFS volume (VMware)"},
		{2 << 20, "\x5e\xf1\xab\x2f", "a VMFS file system (VMware)"},
		{0, "SPACEDB ", "a Storage Spaces disk"},
		{4096, "SPACEDB ", "a Storage Spaces disk"},
		{510, "\x55\xaa", "an MBR or boot sector"},
	}
}

// Describe describes content that was read at an offset of a disk or volume: the format if content has a known mark,
// else the place of the first byte that is not zero. It returns "" if all bytes are zero.
func Describe(content []byte, offset int64) string {
	first := firstNonZero(content)
	if first < 0 {
		return ""
	}
	for _, m := range magics() {
		if at := m.offset - offset; at >= 0 && at < int64(len(content)) && bytes.HasPrefix(content[at:], []byte(m.mark)) {
			return m.name
		}
	}
	if offset > 0 {
		if name := describeCopy(content); name != "" {
			return name
		}
	}
	return fmt.Sprintf("data of an unknown kind (first at byte %d)", offset+int64(first))
}

// describeCopy names a second copy of a format's header that lies somewhere in the content, or returns "".
func describeCopy(content []byte) string {
	if at := bytes.LastIndex(content, []byte("EFI PART")); at >= 0 && at%512 == 0 {
		return "the backup header of a GPT partition table"
	}
	for _, m := range []magic{
		{0, "XFSB", "a part of an XFS file system"},
		{0, "FILE0", "a part of an NTFS file system"},
		{3, "NTFS    ", "the backup boot sector of an NTFS file system"},
		{0x40, "_BHRfS_M", "a mirror of the superblock of a Btrfs file system"},
		{0x38, "\x53\xef", "a backup superblock of an ext2, ext3 or ext4 file system"},
	} {
		for at := 0; at+512 <= len(content); at += 512 {
			if bytes.HasPrefix(content[at+int(m.offset):], []byte(m.mark)) {
				return m.name
			}
		}
	}
	return ""
}

func firstNonZero(b []byte) int {
	zeros := make([]byte, 64<<10)
	for done := 0; done < len(b); done += len(zeros) {
		part := b[done:min(done+len(zeros), len(b))]
		if !bytes.Equal(part, zeros[:len(part)]) {
			return done + len(part) - len(bytes.TrimLeft(part, "\x00"))
		}
	}
	return -1
}
