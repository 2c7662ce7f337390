// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// diskBytes is the size of the disks that hold data.
const diskBytes = 64 << 20

// mark is some bytes at an offset; a negative one counts from the end.
type mark struct {
	offset int64
	bytes  string
}

// The marks that formats leave on what they format, by their specifications.
func ext4() []mark    { return []mark{{1024, "\x00\x10\x00\x00"}, {1024 + 56, "\x53\xef"}} }
func luks() []mark    { return []mark{{0, "LUKS\xba\xbe\x00\x02"}} }
func lvm() []mark     { return []mark{{512, "LABELONE"}} }
func fat32() []mark   { return []mark{{11, "\x00\x02"}, {82, "FAT32   "}, {510, "\x55\xaa"}} }
func refs() []mark    { return []mark{{3, "ReFS\x00\x00\x00\x00"}, {16, "FSRS"}} }
func bitlock() []mark { return []mark{{3, "-FVE-FS-"}, {510, "\x55\xaa"}} }

func ntfs() []mark {
	return []mark{{3, "NTFS    \x00\x02\x08"}, {40, "\xff\xff\x01\x00"}, {48, "\x10"}, {510, "\x55\xaa"}}
}

// partitioned returns a master boot record with one entry of a type, or with none for type 0.
func partitioned(kind byte) []mark {
	m := []mark{{440, "\x12\x34\x56\x78"}, {510, "\x55\xaa"}}
	if kind != 0 {
		entry := make([]byte, 16)
		entry[4] = kind
		binary.LittleEndian.PutUint32(entry[8:], 256)
		binary.LittleEndian.PutUint32(entry[12:], 8192)
		m = append(m, mark{446, string(entry)})
	}
	return m
}

// random returns noise that resembles no format.
func random(offset int64, length int) []mark {
	source := rand.New(rand.NewPCG(uint64(offset), uint64(length))) // the same noise in each run
	noise := make([]byte, length)
	for i := range noise {
		noise[i] = byte(1 + source.IntN(255))
	}
	return []mark{{offset, string(noise)}}
}

// write puts marks into the bytes of a disk, or of a volume that begins at base and has the given size.
func write(t *testing.T, image string, base, length int64, marks []mark) {
	t.Helper()
	f, err := os.OpenFile(image, os.O_RDWR|os.O_CREATE, 0o600)
	noError(t, err)
	for _, m := range marks {
		at := m.offset
		if at < 0 {
			at += length
		}
		_, err := f.WriteAt([]byte(m.bytes), base+at)
		noError(t, err)
	}
	noError(t, f.Close())
}

func TestDisksThatHoldDataAreNotPartitioned(t *testing.T) {
	const kept, refused = codes.OK, codes.FailedPrecondition
	g := attack(t, testnode.Options{})
	for i, c := range []struct {
		name  string
		marks []mark
		want  codes.Code
		found string // in the message of a refusal
	}{
		{"ext4", ext4(), refused, "ext4"},
		{"LUKS", luks(), refused, "LUKS"},
		{"LVM", lvm(), refused, "LVM"},
		{"an MBR with a partition", partitioned(0x07), kept, ""},
		{"an MBR with a Linux partition", partitioned(0x83), kept, ""},
		{"an MBR with an extended partition", partitioned(0x0f), kept, ""},
		{"an MBR without partitions", partitioned(0), refused, "MBR"},
		{"an MBR with neither signature nor partitions", []mark{{510, "\x55\xaa"}}, refused, "MBR"},
		{"NTFS without a partition table", ntfs(), refused, "NTFS"},
		{"FAT32 without a partition table", fat32(), refused, "FAT32"},
		{"ReFS without a partition table", refs(), refused, "ReFS"},
		{"BitLocker without a partition table", bitlock(), refused, "BitLocker"},
		{"noise at the beginning", random(0, 4096), refused, "data"},
		{"one byte at the beginning", []mark{{0, "\x01"}}, refused, "data"},
		{"one byte before 1 MiB", []mark{{1<<20 - 1, "\x01"}}, refused, "data"},
		{"noise in the last MiB", random(-700_000, 100_000), refused, "data"},
		{"the first byte of the last MiB", []mark{{-1 << 20, "\x01"}}, refused, "data"},
		{"the last byte", []mark{{-1, "\x01"}}, refused, "data"},
		{"a protective MBR alone", append(partitioned(0xee), mark{440, "\x00\x00\x00\x00"}), refused, "MBR"},
	} {
		for j, spec := range []emulated.DiskSpec{{SectorSize: 512}, {SectorSize: 4096, Offline: true}} {
			if !testnode.Sampled(t, j, i, 1) {
				continue
			}
			spec.SizeBytes, spec.LUNAuto, spec.ImagePath = diskBytes, true, filepath.Join(t.TempDir(), "image")
			write(t, spec.ImagePath, 0, diskBytes, c.marks)
			g.partitionRefused(fmt.Sprintf("%s, sectors of %d bytes", c.name, spec.SectorSize), spec, c.want, c.found)
		}
	}
	g.alive()
}

// partitionRefused attaches a disk, has it partitioned, and detaches it again.
func (g *target) partitionRefused(name string, spec emulated.DiskSpec, want codes.Code, found string) {
	g.t.Helper()
	number, err := g.Emulated.AttachDisk(spec)
	noError(g.t, err)
	before := g.snapshot()
	_, err = g.Disk.PartitionDisk(g.t.Context(), &disk.PartitionDiskRequest{DiskNumber: number})
	wantCode(g.t, "PartitionDisk of a disk with "+name, err, want)
	if want == codes.FailedPrecondition && !strings.Contains(status.Convert(err).Message(), found) {
		g.t.Errorf("PartitionDisk of a disk with %s: %v does not name %s", name, err, found)
	}
	g.unchanged("PartitionDisk of a disk with "+name, before)
	_, err = g.Emulated.DetachDisk(number)
	noError(g.t, err)
}

// A GPT that lost one of its copies is still a GPT.
func TestDamagedGPTsAreNotPartitioned(t *testing.T) {
	g := attack(t, testnode.Options{})
	zeros := func(offset int64, length int) mark { return mark{offset, string(make([]byte, length))} }
	for name, c := range map[string]struct {
		damage []mark
		want   codes.Code
		found  string
	}{
		"only a backup GPT":                  {[]mark{zeros(0, 34*512)}, codes.FailedPrecondition, "GPT"},
		"a GPT without its protective MBR":   {[]mark{zeros(0, 512)}, codes.FailedPrecondition, "GPT"},
		"a GPT whose first header is broken": {[]mark{{512 + 24, "\xff\xff"}}, codes.OK, ""},
		"a GPT whose first header is gone":   {[]mark{zeros(512, 512)}, codes.OK, ""},
		"a GPT whose backup is gone":         {[]mark{zeros(-33*512, 33*512)}, codes.OK, ""},
		"a GPT whose headers are both gone": {[]mark{zeros(512, 512), zeros(-512, 512)},
			codes.FailedPrecondition, "MBR"},
		"a GPT whose entries are both scribbled": {[]mark{{1024, "scribble"}, {-33 * 512, "scribble"}},
			codes.FailedPrecondition, "GPT"},
	} {
		number, err := g.Emulated.AttachDisk(emulated.DiskSpec{SizeBytes: diskBytes, LUNAuto: true})
		noError(t, err)
		_, err = g.Disk.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: number})
		noError(t, err)
		image, err := g.Emulated.DetachDisk(number)
		noError(t, err)
		write(t, image, 0, diskBytes, c.damage)
		g.partitionRefused(name, emulated.DiskSpec{ImagePath: image, LUNAuto: true}, c.want, c.found)
	}
	g.alive()
}

// A GPT that lost its only data partition: what lies where the partition was, and nowhere else, is not overwritten.
func TestLostPartitionsAreNotPartitionedOver(t *testing.T) {
	const size = 2 << 30 // so large that no sample of the whole disk lies there
	g := attack(t, testnode.Options{})
	attached := func() (number uint32, path string) {
		number, err := g.Emulated.AttachDisk(emulated.DiskSpec{SizeBytes: size, LUNAuto: true})
		noError(t, err)
		return number, fmt.Sprintf(`\\.\PhysicalDrive%d`, number)
	}
	twin, path := attached()
	_, err := g.Disk.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: twin})
	noError(t, err)
	out := make([]byte, 4096)
	layout, err := win32.ParseDriveLayout(out[:g.control(path, win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil, out)])
	noError(t, err)
	lost := layout.Partitions[len(layout.Partitions)-1]
	for name, marks := range map[string][]mark{
		"LUKS":                             luks(),
		"the end of LUKS2's second header": {{4<<20 - 1, "\x01"}},
		"a superblock of ext4's group 1":   {{128<<20 + 56, "\x53\xef"}},
		"nothing":                          nil,
	} {
		number, path := attached()
		g.control(path, win32.IOCTL_DISK_CREATE_DISK, win32.CreateDisk{Style: win32.PARTITION_STYLE_GPT}.Bytes(), nil)
		image, err := g.Emulated.DiskImage(number)
		noError(t, err)
		write(t, image, lost.StartingOffset, lost.Length, marks)
		want := codes.FailedPrecondition
		if marks == nil {
			want = codes.OK
		}
		_, err = g.Disk.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: number})
		wantCode(t, "PartitionDisk of a disk whose lost partition held "+name, err, want)
	}
	g.alive()
}

// control sends a control code to a disk of the node, as other software of the node would.
func (g *target) control(path string, code uint32, in, out []byte) int {
	g.t.Helper()
	h, err := g.Emulated.OpenDevice(path, win32.GENERIC_READ|win32.GENERIC_WRITE)
	noError(g.t, err)
	n, err := h.DeviceIoControl(code, in, out)
	noError(g.t, err)
	noError(g.t, h.Close())
	return n
}

func TestVolumesThatHoldDataAreNotFormatted(t *testing.T) {
	g := attack(t, testnode.Options{})
	for i, c := range []struct {
		name      string
		marks     []mark
		formatted bool // Windows knows the file system
		want      codes.Code
		found     string
	}{
		{"ext4", ext4(), false, codes.FailedPrecondition, "ext4"},
		{"LUKS", luks(), false, codes.FailedPrecondition, "LUKS"},
		{"LVM", lvm(), false, codes.FailedPrecondition, "LVM"},
		{"ReFS", refs(), true, codes.FailedPrecondition, "ReFS"},
		{"FAT32", fat32(), true, codes.FailedPrecondition, "FAT32"},
		{"NTFS", ntfs(), true, codes.OK, ""},
		{"noise at the beginning", random(0, 512), false, codes.FailedPrecondition, "data"},
		{"one byte before 1 MiB", []mark{{1<<20 - 1, "\x01"}}, false, codes.FailedPrecondition, "data"},
		{"noise in the last MiB", random(-1<<20, 512), false, codes.FailedPrecondition, "data"},
		{"the last byte", []mark{{-1, "\x01"}}, false, codes.FailedPrecondition, "data"},
	} {
		if !testnode.Sampled(t, i, 1, 1) {
			continue
		}
		number, err := g.Emulated.AttachDisk(emulated.DiskSpec{SizeBytes: diskBytes, LUNAuto: true})
		noError(t, err)
		_, err = g.Disk.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: number})
		noError(t, err)
		offset, length := g.dataPartition(number)
		image, err := g.Emulated.DetachDisk(number)
		noError(t, err)
		write(t, image, offset, length, c.marks)
		number, err = g.Emulated.AttachDisk(emulated.DiskSpec{ImagePath: image, LUNAuto: true})
		noError(t, err)
		id := g.volumes(number)[0]
		_, err = g.Volume.GetVolumeStats(t.Context(), &volume.GetVolumeStatsRequest{VolumeId: id})
		wantCode(t, "GetVolumeStats of a volume with "+c.name, err, codes.OK)

		before := g.snapshot()
		reply, err := g.Volume.IsVolumeFormatted(t.Context(), &volume.IsVolumeFormattedRequest{VolumeId: id})
		if err != nil || reply.GetFormatted() != c.formatted {
			t.Errorf("IsVolumeFormatted of a volume with %s: %v, %v, want %v", c.name, reply.GetFormatted(), err, c.formatted)
		}
		_, err = g.Volume.FormatVolume(t.Context(), &volume.FormatVolumeRequest{VolumeId: id})
		wantCode(t, "FormatVolume of a volume with "+c.name, err, c.want)
		if !strings.Contains(status.Convert(err).Message(), c.found) {
			t.Errorf("FormatVolume of a volume with %s: %v does not name %s", c.name, err, c.found)
		}
		_, err = g.Disk.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: number})
		wantCode(t, "PartitionDisk of the disk of a volume with "+c.name, err, codes.OK)
		g.unchanged("asking for a volume with "+c.name+" to be formatted", before)
		_, err = g.Emulated.DetachDisk(number)
		noError(t, err)
	}
	g.alive()
}

// A boot sector that claims NTFS and makes no sense is a damaged file system: not unformatted, and not fatal to the
// agent.
func TestDamagedNTFS(t *testing.T) {
	g := attack(t, testnode.Options{})
	for name, damage := range map[string][]mark{
		"no sectors per cluster": {{13, "\x00"}},
		"3 sectors per cluster":  {{13, "\x03"}},
		"no bytes per sector":    {{11, "\x00\x00"}},
		"no sectors":             {{40, "\x00\x00\x00\x00\x00\x00\x00\x00"}},
		"too many sectors":       {{40, "\xff\xff\xff\xff\xff\xff\xff\xff"}},
		"an MFT beyond the end":  {{48, "\xff\xff\xff\xff\xff\xff\xff\xff"}},
	} {
		number, err := g.Emulated.AttachDisk(emulated.DiskSpec{SizeBytes: diskBytes, LUNAuto: true})
		noError(t, err)
		_, err = g.Disk.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: number})
		noError(t, err)
		offset, length := g.dataPartition(number)
		image, err := g.Emulated.DetachDisk(number)
		noError(t, err)
		write(t, image, offset, length, append(ntfs(), damage...))
		number, err = g.Emulated.AttachDisk(emulated.DiskSpec{ImagePath: image, LUNAuto: true})
		noError(t, err)
		id := g.volumes(number)[0]

		for _, m := range methodsNamed(t, "IsVolumeFormatted", "FormatVolume", "GetVolumeStats", "ResizeVolume") {
			reply, err := g.call(t.Context(), m, m.encode(t, values{"volume_id": id}))
			if code := codeOf(err); code == codes.Internal || code == codes.Unknown || code == codes.Unavailable {
				t.Errorf("%v of a volume with %s: %v", m, name, err)
			}
			if m.name == "IsVolumeFormatted" && err == nil && len(reply) == 0 {
				t.Errorf("a volume with %s reads as unformatted", name)
			}
		}
		_, err = g.admin.GetTree(t.Context(), &admin.GetTreeRequest{})
		wantCode(t, "the tree with a volume with "+name, err, codes.OK)
		_, err = g.Emulated.DetachDisk(number)
		noError(t, err)
	}
	g.alive()
}

// dataPartition returns the place of a disk's data partition.
func (g *target) dataPartition(number uint32) (offset, length int64) {
	g.t.Helper()
	tree, err := g.admin.GetTree(g.t.Context(), &admin.GetTreeRequest{})
	noError(g.t, err)
	for _, d := range tree.GetDisks() {
		for _, p := range d.GetPartitions() {
			if d.GetNumber() == number && p.GetVolume() != nil {
				return p.GetOffsetBytes(), p.GetSizeBytes()
			}
		}
	}
	g.t.Fatalf("disk %d has no partition with a volume", number)
	return 0, 0
}
