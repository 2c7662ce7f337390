// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/Microsoft/go-winio/pkg/guid"
	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ondisk"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

const (
	mib = 1 << 20
	// diskBytes is the size of the disks that hold data.
	diskBytes = 64 * mib
)

// mark is some bytes at an offset; a negative one counts from the end.
type mark struct {
	offset int64
	bytes  string
}

func zeros(offset int64, length int) mark { return mark{offset, string(make([]byte, length))} }

// luks is what a volume with LUKS begins with.
const luks = "LUKS\xba\xbe\x00\x02"

// image writes marks, one after the other, into a file of a disk's size.
func image(t *testing.T, size int64, marks ...mark) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "image"))
	if err == nil {
		err = f.Truncate(size)
	}
	for _, m := range marks {
		if m.offset < 0 {
			m.offset += size
		}
		if err == nil {
			_, err = f.WriteAt([]byte(m.bytes), m.offset)
		}
	}
	caller.OK(t, err)
	_ = f.Close()
	return f.Name()
}

// mbr returns a master boot record with one entry of a type, over the disk from 1 MiB, or with none for type 0.
func mbr(kind byte) []mark {
	marks := []mark{{440, "\x12\x34\x56\x78"}, {510, "\x55\xaa"}}
	if kind != 0 {
		entry := make([]byte, 16)
		entry[4] = kind
		binary.LittleEndian.PutUint32(entry[8:], mib/512)
		binary.LittleEndian.PutUint32(entry[12:], (diskBytes-2*mib)/512)
		marks = append(marks, mark{446, string(entry)})
	}
	return marks
}

// table returns a GPT with partitions of some types side by side from 1 MiB, each of the given size.
func table(t *testing.T, disk, each int64, types ...guid.GUID) (marks []mark) {
	t.Helper()
	id := func() guid.GUID {
		id, err := guid.NewV4()
		caller.OK(t, err)
		return id
	}
	g := ondisk.NewGPT(id(), 512, disk)
	for i, kind := range types {
		g.Partitions = append(g.Partitions, win32.Partition{Number: uint32(i) + 1, Type: kind, ID: id(),
			StartingOffset: mib + int64(i)*each, Length: each})
	}
	if !g.Valid() {
		t.Fatal("the partitions do not fit")
	}
	for _, b := range g.Encode() {
		marks = append(marks, mark{b.Offset, string(b.Data)})
	}
	return marks
}

// TestMediaThatHoldDataAreLeftAlone makes all calls that write tables and file systems on disks that hold something.
// Whatever the answers are, no byte changes. internal/agent/signature has the formats.
func TestMediaThatHoldDataAreLeftAlone(t *testing.T) {
	linux := guid.GUID{Data1: 0x0fc63daf, Data2: 0x8483, Data3: 0x4772,
		Data4: [8]byte{0x8e, 0x79, 0x3d, 0x69, 0xd8, 0x47, 0x7d, 0xe4}}
	spaces := guid.GUID{Data1: 0xe75caf8f, Data2: 0xf680, Data3: 0x4cee,
		Data4: [8]byte{0xaf, 0xa3, 0xb0, 0x01, 0xe5, 0x6e, 0xfc, 0x2d}}
	parts := func(types ...guid.GUID) func(more ...mark) []mark {
		return func(more ...mark) []mark { return append(table(t, diskBytes, 8*mib, types...), more...) }
	}
	basic, none := parts(win32.PartitionBasicData), parts()
	alone := func(marks ...mark) []mark { return marks }
	n := caller.Start(t, testnode.Options{})
	for i, c := range []struct {
		name  string
		marks []mark
		// found is in the message with which PartitionDisk refuses; "": the disk has partitions, so nothing is done.
		found string
		// volume is in the message with which FormatVolume refuses, if Windows sees a data volume.
		volume string
	}{
		{"a format", alone(mark{0, luks}), "LUKS", ""},
		{"a file system without a table", alone(mark{3, "NTFS    \x00\x02\x08"}, mark{510, "\x55\xaa"}), "NTFS", ""},
		{"one byte at the beginning", alone(mark{0, "\x01"}), "data", ""},
		{"one byte before 1 MiB", alone(mark{mib - 1, "\x01"}), "data", ""},
		{"the first byte of the last MiB", alone(mark{-mib, "\x01"}), "data", ""},
		{"the last byte", alone(mark{-1, "\x01"}), "data", ""},

		{"an MBR with a partition", append(mbr(0x07), mark{mib, "\x01"}), "", "data"},
		{"an MBR with a Linux partition", mbr(0x83), "", ""},
		{"an MBR with an extended partition", mbr(0x0f), "", ""},
		{"an MBR without partitions", mbr(0), "MBR", ""},
		{"an MBR with neither signature nor partitions", alone(mark{510, "\x55\xaa"}), "MBR", ""},
		{"a protective MBR alone", append(mbr(0xee), zeros(440, 4)), "MBR", ""},

		{"a dynamic disk with an MBR", append(mbr(0x42), mark{-mib, "PRIVHEAD"}, mark{0x600, "PRIVHEAD"}), "", ""},
		{"a dynamic disk with a GPT", parts(win32.PartitionLDMMetadata, win32.PartitionMSR, win32.PartitionLDMData)(
			mark{mib, "PRIVHEAD"}), "", ""},
		{"a dynamic disk's database at the end only", alone(mark{-mib, "PRIVHEAD"}), "data", ""},
		{"a Linux partition", parts(linux)(mark{mib + 1024 + 56, "\x53\xef"}), "", ""},
		{"a partition of an unknown type", parts(guid.GUID{Data1: 1})(), "", ""},
		{"a partition of Storage Spaces", parts(spaces)(mark{mib, "SPACEDB "}), "", ""},

		{"a format in a partition", basic(mark{mib, luks}), "", "LUKS"},
		{"ReFS in a partition", basic(mark{mib + 3, "ReFS\x00\x00\x00\x00"}, mark{mib + 16, "FSRS"}), "", "ReFS"},
		{"noise in a partition", basic(mark{mib + 4096, "somebody's"}), "", "data"},
		{"the last byte of a partition", basic(mark{9*mib - 1, "\x01"}), "", "data"},

		{"an empty GPT with data where the partition would begin",
			parts(win32.PartitionMSR)(mark{9 * mib, "somebody's"}), "data", ""},
		{"an empty GPT with data at the end", none(mark{-mib, "somebody's"}), "data", ""},
		{"only a backup GPT", basic(zeros(0, 34*512)), "GPT", ""},
		{"only a backup GPT of Linux", parts(linux)(zeros(0, 34*512)), "GPT", ""},
		{"a GPT without its protective MBR", basic(zeros(0, 512)), "GPT", ""},
		{"a GPT whose first header is broken", basic(mark{512 + 24, "\xff\xff"}, mark{mib, luks}), "", "LUKS"},
		{"a GPT whose first header is gone", basic(zeros(512, 512), mark{mib, luks}), "", "LUKS"},
		{"a GPT whose backup is gone", basic(zeros(-33*512, 33*512), mark{mib, luks}), "", "LUKS"},
		{"a GPT whose headers are both gone", basic(zeros(512, 512), zeros(-512, 512)), "MBR", ""},
		{"a GPT whose entries are both scribbled", basic(mark{1024, "scribble"}, mark{-33 * 512, "scribble"}), "GPT", ""},
	} {
		for j, offline := range []bool{false, true} {
			if !testnode.Sampled(t, 2*i+j, 1, 1) {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				spec := bundle.Spec{ImagePath: image(t, diskBytes, c.marks...), Offline: offline}
				n := caller.On(t, n.Node)
				number := n.Attach(spec)
				before := n.DiskDigest(number)
				left(n, n.PartitionDisk(number), c.found)
				n.OK(n.SetDiskState(number, true))
				left(n, n.PartitionDisk(number), c.found)
				ids, err := n.ListVolumesOnDisk(number)
				if err != nil { // without a data volume that Windows knows
					n.Code(err, codes.FailedPrecondition)
				}
				if (len(ids) > 0) != (c.volume != "") {
					t.Errorf("it has the volumes %q", ids)
				}
				for _, id := range ids {
					left(n, n.FormatVolume(id), c.volume)
				}
				if after := n.DiskDigest(number); after != before {
					t.Errorf("offline=%t: bytes of the disk changed", offline)
				}
				n.DetachDisk(number)
			})
		}
	}
}

// left checks that a disk or volume was left alone: as it has what the call is for, or because of what was found.
func left(n *caller.Node, err error, found string) {
	if found == "" {
		n.OK(err)
		return
	}
	n.Refused(err, codes.FailedPrecondition, caller.Reason(err), found)
}
