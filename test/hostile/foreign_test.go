// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// Foreign disks are as other systems' own tools leave them: testdata/foreign/make.sh made them and tools.txt names the
// tools. Formats whose tools need their own kernel are written by their documents, and blkid confirms them.

// foreignDisks returns the paths of unpacked images by name: of all, or of a sample.
func foreignDisks(t *testing.T, subject int) map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "foreign", "foreign.tar.gz"))
	caller.OK(t, err)
	defer f.Close()
	packed, err := gzip.NewReader(f)
	caller.OK(t, err)
	images, dir, number := map[string]string{}, t.TempDir(), 0
	sampled := func() bool { number++; return testnode.Sampled(t, number, subject, 12) }
	for archive := tar.NewReader(packed); ; {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		caller.OK(t, err)
		if name := filepath.Base(entry.Name); entry.Typeflag != tar.TypeDir && sampled() {
			images[name] = filepath.Join(dir, name)
			caller.OK(t, unpack(images[name], 0, archive, entry.Size))
		}
	}
	documented := documentedDisks()
	for _, name := range slices.Sorted(maps.Keys(documented)) {
		if sampled() {
			images[name] = image(t, diskBytes, documented[name]...)
		}
	}
	return images
}

// unpack writes content into a sparse file, at an offset.
func unpack(path string, at int64, content io.Reader, size int64) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	buffer, zeros := make([]byte, 64<<10), make([]byte, 64<<10)
	for done := int64(0); done < size && err == nil; {
		var n int
		n, err = io.ReadFull(content, buffer[:min(int64(len(buffer)), size-done)])
		if err == nil && !bytes.Equal(buffer[:n], zeros[:n]) {
			_, err = out.WriteAt(buffer[:n], at+done)
		}
		done += int64(n)
	}
	if info, statErr := out.Stat(); err == nil && statErr == nil && info.Size() < at+size {
		err = out.Truncate(at + size)
	}
	return errors.Join(err, out.Close())
}

// wiped are the recorded disks that leave enough behind when both ends are zeroed, with how much is zeroed.
func wiped() map[string]int64 {
	return map[string]int64{
		"ext2": mib, "ext3": mib, "ext4": mib, "ext4-4k": 4 * mib, "ext4-sparse2": 4 * mib, "gpt-ext4": mib, "xfs": 4 * mib,
		"btrfs": 4 * mib, "ntfs": 4 * mib, "f2fs": mib, "gfs2": 4 * mib, "exfat": mib,
	}
}

// TestForeignDisks: no disk that another system has formatted is touched, whatever its sectors and its state.
func TestForeignDisks(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	images := foreignDisks(t, 0)
	for name, edge := range wiped() {
		if image, ok := images[name]; ok {
			content, err := os.ReadFile(image)
			n.OK(err)
			clear(content[:edge])
			clear(content[int64(len(content))-edge:])
			images[name+", wiped"] = image + ", wiped"
			n.OK(unpack(image+", wiped", 0, bytes.NewReader(content), int64(len(content))))
		}
	}
	number := 0
	for i, name := range slices.Sorted(maps.Keys(images)) {
		image := images[name]
		for j, spec := range []bundle.Spec{{SectorSize: 512}, {SectorSize: 4096, Offline: true},
			{SectorSize: 512, Offline: true}, {SectorSize: 4096}} {
			if testnode.Sampled(t, j, i, 4) {
				number++
				spec.ImagePath = image
				image = leftAlone(t, n, fmt.Sprintf("%s, sectors of %d bytes, offline=%t", name, spec.SectorSize, spec.Offline), spec)
			}
		}
		n.OK(os.Remove(image))
	}
	t.Logf("%d foreign disks", number)
	if testnode.All() && number < 136 {
		t.Errorf("only %d foreign disks", number)
	}
}

// leftAlone has a foreign disk partitioned: it is refused, or keeps the partitions that it has. It returns the detached
// disk's image.
func leftAlone(t *testing.T, n *caller.Node, name string, spec bundle.Spec) (image string) {
	t.Helper()
	number := n.Attach(spec)
	before := n.DiskDigest(number)
	err := n.PartitionDisk(number)
	if code := codeOf(err); code != codes.FailedPrecondition && code != codes.OK || n.DiskDigest(number) != before {
		t.Errorf("PartitionDisk of %s: %v, or its bytes changed", name, err)
	}
	image = filepath.Join(t.TempDir(), "image") // without what the bundle says of its sectors
	n.OK(os.Rename(n.DetachDisk(number), image))
	return image
}

// TestForeignVolumes: no volume that another system has formatted is formatted, and neither is an NTFS of another tool.
func TestForeignVolumes(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	images := foreignDisks(t, 1)
	for _, name := range slices.Sorted(maps.Keys(images)) {
		f, err := os.Open(images[name])
		n.OK(err)
		info, err := f.Stat()
		n.OK(err)
		size := info.Size()
		disk := image(t, size+3*mib, table(t, size+3*mib, size, win32.PartitionBasicData)...)
		n.OK(errors.Join(unpack(disk, mib, f, size), f.Close()))
		number := n.Attach(bundle.Spec{ImagePath: disk})
		id := n.Volumes(number)[0]
		_, _, err = n.GetVolumeStats(id) // mounts an NTFS
		n.OK(err)
		before := n.DiskDigest(number)
		err = n.FormatVolume(id)
		if code := codeOf(err); code != codes.FailedPrecondition && !(name == "ntfs" && code == codes.OK) {
			t.Errorf("FormatVolume of a volume with %s: %v", name, err)
		}
		if n.DiskDigest(number) != before {
			t.Errorf("FormatVolume of a volume with %s changed it", name)
		}
		n.OK(os.Remove(n.DetachDisk(number)))
	}
}

// documentedDisks are disks of diskBytes bytes with the marks of formats by their documents.
func documentedDisks() map[string][]mark {
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
		out, err := exec.CommandContext(t.Context(), "blkid", "-p", "-o", "value", "-s", "TYPE",
			image(t, diskBytes, documentedDisks()[name]...)).Output()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s: blkid says %q, %v, want %q", name, got, err, want)
		}
	}
}
