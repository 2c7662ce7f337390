// SPDX-License-Identifier: Apache-2.0

package signature_test

import (
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/signature"
)

func TestDescribe(t *testing.T) {
	at := func(offset int, mark string) []byte {
		content := make([]byte, 1<<20)
		copy(content[offset:], mark)
		return content
	}
	for _, test := range []struct {
		name    string
		content []byte
		offset  int64
		want    string
	}{
		{"zeros", make([]byte, 1<<20), 0, ""},
		{"nothing", nil, 0, ""},
		{"GPT, 512-byte sectors", at(512, "EFI PART"), 0, "a GPT partition table"},
		{"GPT, 4096-byte sectors", at(4096, "EFI PART"), 0, "a GPT partition table"},
		{"GPT at the end only", at(1<<20-512, "EFI PART"), 1 << 30, "the backup header of a GPT partition table"},
		{"NTFS", at(3, "NTFS    "), 0, "an NTFS file system"},
		{"ext4", at(0x438, "\x53\xef"), 0, "an ext2, ext3 or ext4 file system"},
		{"LUKS", at(0, "LUKS\xba\xbe"), 0, "a LUKS encrypted volume"},
		{"ReFS", at(3, "ReFS\x00\x00\x00\x00\x00\x00\x00\x00\x00FSRS"), 0, "a ReFS file system"},
		{"BitLocker", at(3, "-FVE-FS-"), 0, "a BitLocker volume"},
		{"FAT32", at(82, "FAT32   "), 0, "a FAT32 file system"},
		{"XFS", at(0, "XFSB"), 0, "an XFS file system"},
		{"Btrfs", at(0x10040, "_BHRfS_M"), 0, "a Btrfs file system"},
		{"LVM", at(512, "LABELONE"), 0, "an LVM physical volume"},
		{"Linux RAID", at(4096, "\xfc\x4e\x2b\xa9"), 0, "a Linux software RAID member"},
		{"swap", at(4086, "SWAPSPACE2"), 0, "a Linux swap area"},
		{"a dynamic disk", at(0x600, "PRIVHEAD"), 0, "a Windows dynamic disk (LDM)"},
		{"Storage Spaces", at(4096, "SPACEDB "), 0, "a Storage Spaces disk"},
		{"VMFS", at(0, "\x0d\xd0\x01\xc0"), 1 << 20, "a VMFS volume (VMware)"},
		{"the file system of VMFS", at(0, "\x5e\xf1\xab\x2f"), 2 << 20, "a VMFS file system (VMware)"},
		{"a superblock of ext4 far from the beginning", at(0x38, "\x53\xef"), 128 << 20,
			"a backup superblock of an ext2, ext3 or ext4 file system"},
		{"an allocation group of XFS", at(4096, "XFSB"), 1 << 30, "a part of an XFS file system"},
		{"a mirror of Btrfs", at(0x40, "_BHRfS_M"), 64 << 20, "a mirror of the superblock of a Btrfs file system"},
		{"the boot sector of NTFS at the end", at(1<<20-512+3, "NTFS    "), 1 << 30,
			"the backup boot sector of an NTFS file system"},
		{"boot sector", at(510, "\x55\xaa"), 0, "an MBR or boot sector"},
		{"an NTFS mark far from the beginning is a second one", at(3, "NTFS    "), 1 << 20,
			"the backup boot sector of an NTFS file system"},
		{"one byte", at(1<<20-1, "x"), 0, "data of an unknown kind (first at byte 1048575)"},
	} {
		if got := signature.Describe(test.content, test.offset); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func FuzzDescribe(f *testing.F) {
	f.Add([]byte("\x00\x00\x00NTFS    "), int64(0))
	f.Add([]byte(strings.Repeat("\x00", 600)+"EFI PART"), int64(1<<20))
	f.Fuzz(func(t *testing.T, content []byte, offset int64) {
		if offset < 0 || offset > 1<<60 {
			t.Skip("no place on a disk")
		}
		blank := strings.Trim(string(content), "\x00") == ""
		if got := signature.Describe(content, offset); (got == "") != blank {
			t.Errorf("%q at %d is described as %q", content, offset, got)
		}
	})
}
