// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// documentedDisks are disks of diskBytes bytes with the marks of formats by their documents: the tools of these need a
// kernel that knows the format.
func documentedDisks() map[string][]mark {
	const mib = 1 << 20
	return map[string][]mark{
		// https://git.kernel.org/pub/scm/linux/kernel/git/stable/linux.git/tree/include/uapi/linux/raid/md_p.h
		"mdadm 0.90": {{diskBytes - 64<<10, raid090()}},
		"mdadm 1.0":  {{diskBytes - 8<<10, raid1(diskBytes - 8<<10)}},
		"mdadm 1.1":  {{0, raid1(0)}},
		"mdadm 1.2":  {{4096, raid1(4096)}},
		// The anchor headers of the SNIA's Common RAID Disk Data Format and of Intel's matrix storage, which mdadm writes
		// too.
		"mdadm ddf":  {{-512, "\xde\x11\xde\x11"}},
		"mdadm imsm": {{-1024, "Intel Raid ISM Cfg Sig. 1.3.00"}},
		// "ZFS On-Disk Specification", 1.2: four labels of 256 KiB, the second half of each uberblocks.
		"ZFS": {
			{128 << 10, uberblocks()}, {256<<10 + 128<<10, uberblocks()},
			{diskBytes - 512<<10 + 128<<10, uberblocks()}, {diskBytes - 256<<10 + 128<<10, uberblocks()},
		},
		// https://github.com/glandium/vmfs-tools: the volume's header at 1 MiB, the file system's 1 MiB behind it.
		"VMFS":             {{mib, "\x0d\xd0\x01\xc0\x03"}, {2 * mib, "\x5e\xf1\xab\x2f\x05"}},
		"VMFS file system": {{2 * mib, "\x5e\xf1\xab\x2f\x05"}},
		"Windows dynamic":  {{0x600, "PRIVHEAD"}},
		"Storage Spaces":   {{4096, "SPACEDB "}},
	}
}

// raid1 returns a superblock of version 1 that lies at an offset.
func raid1(offset int64) string {
	b, le := make([]byte, 512), binary.LittleEndian
	le.PutUint32(b, 0xa92b4efc)
	le.PutUint32(b[4:], 1)
	copy(b[16:], "0123456789abcdef")
	copy(b[32:], "node:0")
	le.PutUint32(b[72:], 1)                  // level
	le.PutUint64(b[80:], 1<<16)              // size in sectors
	le.PutUint32(b[92:], 2)                  // disks
	le.PutUint64(b[128:], 2048)              // data
	le.PutUint64(b[136:], 1<<16)             // length of the data
	le.PutUint64(b[144:], uint64(offset)>>9) // of the superblock
	le.PutUint32(b[220:], 128)               // roles
	sum := uint64(0)
	for i := 0; i < len(b); i += 4 {
		sum += uint64(le.Uint32(b[i:]))
	}
	le.PutUint32(b[216:], uint32(sum)+uint32(sum>>32))
	return string(b)
}

// raid090 returns a superblock of version 0.90.
func raid090() string {
	b, le := make([]byte, 4096), binary.LittleEndian
	le.PutUint32(b, 0xa92b4efc)
	le.PutUint32(b[8:], 90)       // the minor version
	le.PutUint32(b[20:], 0x1234)  // UUID
	le.PutUint32(b[28:], 1)       // level
	le.PutUint32(b[32:], 64000)   // size in KiB
	le.PutUint32(b[36:], 2)       // disks
	le.PutUint32(b[40:], 2)       // of the array
	le.PutUint32(b[4*32:], 1<<20) // utime
	le.PutUint32(b[4*33:], 1)     // state
	sum := uint64(0)
	for i := 0; i < len(b); i += 4 {
		sum += uint64(le.Uint32(b[i:]))
	}
	le.PutUint32(b[4*38:], uint32(sum)+uint32(sum>>32))
	return string(b)
}

// uberblocks returns the uberblocks of a label.
func uberblocks() string {
	b := make([]byte, 128<<10)
	for at := 0; at < len(b); at += 1 << 10 {
		binary.LittleEndian.PutUint64(b[at:], 0x00bab10c)
		binary.LittleEndian.PutUint64(b[at+8:], 5000) // version
		binary.LittleEndian.PutUint64(b[at+16:], uint64(at>>10))
	}
	return string(b)
}

// TestDocumentedDisks: util-linux takes the disks for what they are to be.
func TestDocumentedDisks(t *testing.T) {
	if _, err := exec.LookPath("blkid"); err != nil {
		t.Skip("blkid is not installed")
	}
	for name, want := range map[string]string{
		"mdadm 0.90": "linux_raid_member", "mdadm 1.0": "linux_raid_member", "mdadm 1.1": "linux_raid_member",
		"mdadm 1.2": "linux_raid_member", "ZFS": "zfs_member", "VMFS": "VMFS_volume_member", "VMFS file system": "VMFS",
	} {
		image := filepath.Join(t.TempDir(), "image")
		write(t, image, 0, diskBytes, documentedDisks()[name])
		noError(t, os.Truncate(image, diskBytes))
		out, err := exec.CommandContext(t.Context(), "blkid", "-p", "-o", "value", "-s", "TYPE", image).Output()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s: blkid says %q, %v, want %q", name, got, err, want)
		}
	}
}
