// SPDX-License-Identifier: Apache-2.0

package win32_test

import (
	"testing"

	. "github.com/kubernetes-csi/csi-proxy/internal/agent/win32" //nolint:revive // its tables are full of these names
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
)

func TestLayoutCounts(t *testing.T) {
	layout := DriveLayout{Style: PARTITION_STYLE_GPT, Partitions: make([]Partition, 2)}.Bytes()
	extents := deviceside.VolumeDiskExtents(make(VolumeDiskExtents, 2))
	for _, count := range []uint32{3, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF} {
		if got, err := ParseDriveLayout(patched(layout, 4, count)); err == nil {
			t.Errorf("%d partitions in a buffer for 2 parsed as %d", count, len(got.Partitions))
		}
		if got, err := ParseVolumeDiskExtents(patched(extents, 0, count)); err == nil {
			t.Errorf("%d extents in a buffer for 2 parsed as %d", count, len(got))
		}
	}
	for name, parse := range map[string]func([]byte) error{
		"layout":      func(b []byte) error { _, err := ParseDriveLayout(b); return err },
		"partition":   func(b []byte) error { _, err := ParsePartition(b); return err },
		"create disk": func(b []byte) error { _, err := deviceside.ParseCreateDisk(b); return err },
	} {
		if err := parse(patched(make([]byte, 200), 0, 3)); err == nil {
			t.Errorf("%s: partition style 3 parsed", name)
		}
	}
}

func TestPartitionName(t *testing.T) {
	p := Partition{Style: PARTITION_STYLE_GPT, Name: "0123456789012345678901234567890123456789"}
	got, err := ParsePartition(partitionBytes(p))
	if err != nil || got.Name != p.Name[:36] {
		t.Errorf("got %q, %v: want the first 36 characters", got.Name, err)
	}
}

func TestPartitionStyleString(t *testing.T) {
	for style, want := range map[PartitionStyle]string{
		PARTITION_STYLE_MBR: "MBR", PARTITION_STYLE_GPT: "GPT", PARTITION_STYLE_RAW: "RAW", 3: "partition style 3",
	} {
		if got := style.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
