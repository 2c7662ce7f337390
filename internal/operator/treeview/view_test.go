// SPDX-License-Identifier: Apache-2.0

package treeview_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

func TestWrite(t *testing.T) {
	facts := &admin.GetFactsResponse{Disks: []*admin.Disk{
		{
			Number: new(uint32(0)), SizeBytes: 64 << 30, Style: "GPT", Online: true, System: new(true), BusType: "SAS", Adapter: "1",
			Bus: "0", Target: "0", Lun: "0",
			SerialNumber: "EMU-DISK-0000", Partitions: []*admin.Partition{
				{Number: 3, SizeBytes: 64<<30 - 118<<20, OffsetBytes: 117 << 20, Kind: "basic data", GptAttributes: 3 << 62},
				{Number: 1, SizeBytes: 100 << 20, OffsetBytes: 1 << 20, Kind: "EFI system"},
				{Number: 2, SizeBytes: 16 << 20, OffsetBytes: 101 << 20, Kind: "MSR"},
			},
		},
		{Number: new(uint32(1)), SizeBytes: 10 << 30, Style: "RAW", Online: true, SerialNumber: "vol\x1b[31m", Page83: "EMULATED  disk-2"},
		{Number: new(uint32(12)), SizeBytes: 512, Style: "RAW", ReadOnly: true},
	}, Volumes: []*admin.Volume{
		{Id: `\\?\Volume{1}\`, Extents: []*admin.Extent{{OffsetBytes: 1 << 20}}},
		{Id: `\\?\Volume{2}\`, Extents: []*admin.Extent{{OffsetBytes: 117 << 20}}, FileSystem: "NTFS",
			TotalBytes: 64<<30 - 118<<20, UsedBytes: 3 << 29, MountPoints: []string{`C:\`, `C:\mnt\`}},
		{Id: `\\?\Volume{of no disk}\`, Extents: []*admin.Extent{{Disk: 3, OffsetBytes: 1 << 20}}},
	}}
	const want = `
Disk 0   64 GiB  GPT  online, system      SAS adapter 1 bus 0 target 0 LUN 0
│     serial EMU-DISK-0000
├─ Partition 1   100 MiB  EFI system
│  └─ \\?\Volume{1}\  no file system
├─ Partition 2    16 MiB  MSR
└─ Partition 3  63.8 GiB  basic data, hidden
   └─ \\?\Volume{2}\  NTFS  1.5 GiB of 63.8 GiB used
      ├─ C:\
      └─ C:\mnt\

Disk 1   10 GiB  RAW  online
      serial vol<U+001B>[31m  page 83 EMULATED  disk-2

Disk 12   512 B  RAW  offline, read-only
`
	var got strings.Builder
	if err := treeview.Write(&got, treeview.FromFacts(facts)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got.String(), want[1:]); diff != "" {
		t.Errorf("drawing differs (-got +want):\n%s", diff)
	}
}

func TestWriteOfNoDisks(t *testing.T) {
	var got strings.Builder
	if err := treeview.Write(&got, &treeview.Tree{}); err != nil {
		t.Fatal(err)
	}
	if got.String() != "This node has no disks.\n" {
		t.Errorf("got %q", got.String())
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 1 << 20: "1 MiB",
		64<<30 - 1: "63.9 GiB", 10 << 30: "10 GiB",
		1023 << 20: "1023 MiB", 1<<63 - 1: "7.9 EiB", -1024: "-1 KiB",
	} {
		if got := treeview.Size(bytes); got != want {
			t.Errorf("Size(%d): got %q, want %q", bytes, got, want)
		}
	}
}
