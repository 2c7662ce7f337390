// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/Microsoft/go-winio/pkg/guid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/gpt"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

const mib = 1 << 20

// medium holds the bytes of a disk by their offsets; negative offsets count from the end.
type medium map[int64]string

// mbr returns a master boot record with one entry of a type, over the disk from 1 MiB.
func mbr(kind byte) medium {
	entry := make([]byte, 16)
	entry[4] = kind
	binary.LittleEndian.PutUint32(entry[8:], mib/512)
	binary.LittleEndian.PutUint32(entry[12:], (dataDiskBytes-2*mib)/512)
	return medium{440: "\x12\x34\x56\x78", 446: string(entry), 510: "\x55\xaa"}
}

// table returns a GPT with partitions of some types, each of 8 MiB, the first at 1 MiB.
func table(t *testing.T, types ...guid.GUID) medium {
	t.Helper()
	id := func() guid.GUID {
		id, err := guid.NewV4()
		noError(t, err)
		return id
	}
	g, err := gpt.New(id(), 512, dataDiskBytes)
	noError(t, err)
	for i, kind := range types {
		first := uint64(1+8*i) * mib / 512
		g.Partitions = append(g.Partitions, gpt.Partition{Slot: i, Type: kind, ID: id(), First: first,
			Last: first + 8*mib/512 - 1})
	}
	noError(t, g.Check())
	m := medium{}
	for _, b := range g.Encode() {
		m[b.Offset] = string(b.Data)
	}
	return m
}

func (m medium) with(offset int64, bytes string) medium {
	m[offset] = bytes
	return m
}

func (m medium) trimmed(from, to int64) medium {
	for offset := range m {
		if offset >= from && offset < to {
			delete(m, offset)
		}
	}
	return m
}

// image writes the medium into a file.
func (m medium) image(t *testing.T) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "image"))
	noError(t, err)
	noError(t, f.Truncate(dataDiskBytes))
	for offset, bytes := range m {
		if offset < 0 {
			offset += dataDiskBytes
		}
		_, err := f.WriteAt([]byte(bytes), offset)
		noError(t, err)
	}
	noError(t, f.Close())
	return f.Name()
}

// TestMediaThatHoldDataAreLeftAlone makes all calls that write tables and file systems on disks that hold
// something. Whatever the answers are, no byte changes.
func TestMediaThatHoldDataAreLeftAlone(t *testing.T) {
	linux := guid.GUID{Data1: 0x0fc63daf, Data2: 0x8483, Data3: 0x4772,
		Data4: [8]byte{0x8e, 0x79, 0x3d, 0x69, 0xd8, 0x47, 0x7d, 0xe4}}
	spaces := guid.GUID{Data1: 0xe75caf8f, Data2: 0xf680, Data3: 0x4cee,
		Data4: [8]byte{0xaf, 0xa3, 0xb0, 0x01, 0xe5, 0x6e, 0xfc, 0x2d}}
	unknown := guid.GUID{Data1: 1}
	const kept, refused = codes.OK, codes.FailedPrecondition
	n := testnode.Start(t, testnode.Options{})
	for i, c := range []struct {
		name  string
		bytes medium
		want  codes.Code // of PartitionDisk: it has partitions, so nothing is done, or the call is refused
		found string     // in the message of a refusal
	}{
		{"a dynamic disk with an MBR", mbr(0x42).with(-mib, "PRIVHEAD").with(0x600, "PRIVHEAD"), kept, ""},
		{"a dynamic disk with a GPT", table(t, win32.PartitionLDMMetadata, win32.PartitionMSR, win32.PartitionLDMData).with(
			mib, "PRIVHEAD"), kept, ""},
		{"a dynamic disk without a table", medium{0x600: "PRIVHEAD"}, refused, "dynamic disk"},
		{"a dynamic disk's database at the end only", medium{-mib: "PRIVHEAD"}, refused, "data"},
		{"a Linux partition", table(t, linux).with(mib+1024+56, "\x53\xef"), kept, ""},
		{"a partition of an unknown type", table(t, unknown), kept, ""},
		{"a partition of Storage Spaces", table(t, spaces).with(mib, "SPACEDB "), kept, ""},
		{"ReFS in a partition", table(t, win32.PartitionBasicData).with(mib+3, "ReFS\x00\x00\x00\x00").with(mib+16, "FSRS"),
			kept, ""},
		{"LUKS in a partition", table(t, win32.PartitionBasicData).with(mib, "LUKS\xba\xbe\x00\x02"), kept, ""},
		{"noise in a partition", table(t, win32.PartitionBasicData).with(mib+4096, "somebody's"), kept, ""},
		{"a GPT in the backup only", table(t, win32.PartitionBasicData).trimmed(0, mib), refused, "GPT"},
		{"a GPT of Linux in the backup only", table(t, linux).trimmed(0, mib), refused, "GPT"},
		{"an empty GPT with data where the partition would begin",
			table(t, win32.PartitionMSR).with(9*mib, "somebody's"), refused, "data"},
		{"an empty GPT with data at the end", table(t).with(-mib, "somebody's"), refused, "data"},
		{"data in the first MiB", medium{mib - 1: "x"}, refused, "data"},
		{"data in the last MiB", medium{-mib: "x"}, refused, "data"},
		{"XFS", medium{0: "XFSB"}, refused, "XFS"},
		{"Btrfs", medium{0x10040: "_BHRfS_M"}, refused, "Btrfs"},
		{"Linux RAID", medium{4096: "\xfc\x4e\x2b\xa9"}, refused, "RAID"},
		{"swap", medium{4086: "SWAPSPACE2"}, refused, "swap"},
		{"Storage Spaces without a table", medium{4096: "SPACEDB "}, refused, "Storage Spaces"},
	} {
		for j, offline := range []bool{false, true} {
			if !testnode.Sampled(t, 2*i+j, 1, 1) {
				continue
			}
			number := attachDisk(t, n, emulated.DiskSpec{ImagePath: c.bytes.image(t), Offline: offline})
			before := n.DiskDigest(number)

			err := partitionDisk(t, n, number)
			wantCode(t, "PartitionDisk of "+c.name, err, c.want)
			if !strings.Contains(status.Convert(err).Message(), c.found) {
				t.Errorf("PartitionDisk of %s: %v does not name %q", c.name, err, c.found)
			}
			_, err = n.Disk.SetDiskState(t.Context(), &diskapi.SetDiskStateRequest{DiskNumber: number, IsOnline: true})
			wantCode(t, "SetDiskState of "+c.name, err, codes.OK)
			wantCode(t, "PartitionDisk again of "+c.name, partitionDisk(t, n, number), c.want)
			leaveVolumesAlone(t, n, c.name, number)
			if after := n.DiskDigest(number); after != before {
				t.Errorf("%s, offline=%t: bytes of the disk changed", c.name, offline)
			}
			_, err = n.Emulated.DetachDisk(number)
			noError(t, err)
		}
	}
}

// leaveVolumesAlone asks for the volumes of a disk, if it has any, to be formatted.
func leaveVolumesAlone(t *testing.T, n *testnode.Node, what string, number uint32) {
	t.Helper()
	reply, err := n.Volume.ListVolumesOnDisk(t.Context(), &volumeapi.ListVolumesOnDiskRequest{DiskNumber: number})
	if err != nil { // without a data volume that Windows knows
		wantCode(t, "ListVolumesOnDisk of "+what, err, codes.FailedPrecondition)
	}
	for _, id := range reply.GetVolumeIds() {
		if err := formatVolume(t, n, id); err == nil {
			t.Errorf("FormatVolume of the volume with %s succeeds", what)
		}
	}
}
