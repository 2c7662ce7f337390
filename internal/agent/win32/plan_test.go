// SPDX-License-Identifier: Apache-2.0

package win32_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/Microsoft/go-winio/pkg/guid"
	"github.com/google/go-cmp/cmp"

	. "github.com/kubernetes-csi/csi-proxy/internal/agent/win32" //nolint:revive // its tables are full of these names
)

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30
)

// gpt returns the layout of a disk with 512-byte sectors and a table of 128 entries at both ends.
func gpt(disk int64, partitions ...Partition) DriveLayout {
	for i := range partitions {
		partitions[i].Style, partitions[i].Number = PARTITION_STYLE_GPT, uint32(i+1)
	}
	return DriveLayout{
		Style: PARTITION_STYLE_GPT, StartingUsableOffset: 17 * kib, UsableLength: disk - 17*kib - 33*512,
		MaxPartitionCount: 128, Partitions: partitions,
	}
}

func basic(start, length int64) Partition {
	return Partition{Type: PartitionBasicData, StartingOffset: start, Length: length}
}

func msr(start, length int64) Partition {
	return Partition{Type: PartitionMSR, StartingOffset: start, Length: length}
}

// counter returns a source of the GUIDs 1, 2, and so on.
func counter() func() (guid.GUID, error) {
	n := uint32(0)
	return func() (guid.GUID, error) { n++; return guid.GUID{Data1: n}, nil }
}

// sketch returns the entries of a layout in MiB: "msr 1+16, data 17+3".
func sketch(partitions []Partition) string {
	var parts []string
	for _, p := range partitions {
		kind := "other"
		switch p.Type {
		case PartitionMSR:
			kind = "msr"
		case PartitionBasicData:
			kind = "data"
		}
		parts = append(parts, fmt.Sprintf("%s %v+%v", kind, float64(p.StartingOffset)/float64(mib),
			float64(p.Length)/float64(mib)))
	}
	return strings.Join(parts, ", ")
}

func TestPlanDataPartition(t *testing.T) {
	observedMSR := msr(17408, 16*mib-17408) // as Windows makes it on a small disk
	for _, test := range []struct {
		name   string
		layout DriveLayout
		msr    int64
		want   string // "": ErrNoSpace
	}{
		{"empty table, with MSR", gpt(10 * gib), 16 * mib, "msr 1+16, data 17+10222"},
		{"empty table, without MSR", gpt(10 * gib), 0, "data 1+10238"},
		{"behind Windows' MSR", gpt(10*gib, observedMSR), 16 * mib, "msr 0.0166015625+15.9833984375, data 16+10223"},
		{"MSR is not wanted twice", gpt(64*mib, msr(1*mib, 1*mib)), 16 * mib, "msr 1+1, data 2+61"},
		{"no room for MSR and data", gpt(18 * mib), 16 * mib, "data 1+16"},
		{"just room for MSR and data", gpt(19 * mib), 16 * mib, "msr 1+16, data 17+1"},
		{"largest of three gaps", gpt(100*mib, basic(10*mib, 10*mib), basic(60*mib, 10*mib)), 0,
			"data 10+10, data 60+10, data 20+40"},
		{"MSR in the first gap, data in the largest", gpt(100*mib, basic(10*mib, 10*mib)), 4 * mib,
			"data 10+10, msr 1+4, data 20+79"},
		{"MSR in the second gap", gpt(100*mib, basic(3*mib, 10*mib)), 16 * mib, "data 3+10, msr 13+16, data 29+70"},
		{"data behind an MSR is aligned", gpt(10 * mib), 3 * mib / 2, "msr 1+1.5, data 3+6"},
		{"first of equal gaps", gpt(33*mib, basic(16*mib, 1*mib)), 0, "data 16+1, data 1+15"},
		{"entries out of order", gpt(100*mib, basic(60*mib, 39*mib), basic(1*mib, 19*mib)), 0,
			"data 60+39, data 1+19, data 20+40"},
		{"overlapping entries", gpt(100*mib, basic(1*mib, 90*mib), basic(10*mib, 1*mib)), 0,
			"data 1+90, data 10+1, data 91+8"},
		{"neighbours not aligned", gpt(100*mib, basic(1*mib, 10*mib+512)), 0, "data 1+10.00048828125, data 12+87"},
		{"empty entries take no room", gpt(10*mib, basic(0, 0)), 0, "data 0+0, data 1+8"},
		{"nor do they part a gap", gpt(10*mib, basic(5*mib, 0)), 0, "data 5+0, data 1+8"},
		{"entry outside the usable area", gpt(10*mib, basic(100*mib, 1*mib)), 0, "data 100+1, data 1+8"},
		{"full", gpt(100*mib, basic(1*mib, 98*mib+100*kib)), 0, ""},
		{"disk of 2 MiB", gpt(2 * mib), 0, ""},
		{"disk of 3 MiB", gpt(3 * mib), 16 * mib, "data 1+1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := append([]Partition(nil), test.layout.Partitions...)
			l, p, err := PlanDataPartition(test.layout, test.msr, counter())
			if test.want == "" {
				if !errors.Is(err, ErrNoSpace) {
					t.Errorf("got %s, %v, want ErrNoSpace", sketch(l.Partitions), err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := sketch(l.Partitions); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if diff := cmp.Diff(l.Partitions[:len(before)], before); diff != "" && len(before) > 0 {
				t.Errorf("present entries changed (-got +want):\n%s", diff)
			}
			if diff := cmp.Diff(p, l.Partitions[len(l.Partitions)-1]); diff != "" {
				t.Errorf("the new entry is not the last one (-got +want):\n%s", diff)
			}
			for i, added := range l.Partitions[len(before):] {
				want := Partition{
					Style: PARTITION_STYLE_GPT, Rewrite: true, Number: uint32(len(before) + i + 1),
					ID:   guid.GUID{Data1: uint32(i + 1)},
					Type: added.Type, StartingOffset: added.StartingOffset, Length: added.Length, Name: "Microsoft reserved partition",
				}
				if added.Type == PartitionBasicData {
					want.Name, want.Attributes = "Basic data partition", GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER
				}
				if diff := cmp.Diff(added, want); diff != "" {
					t.Errorf("new entry (-got +want):\n%s", diff)
				}
			}
		})
	}
}

func TestPlanDataPartitionRefuses(t *testing.T) {
	negative, beyond := basic(1*mib, -1), basic(1<<62, 1<<62)
	full := gpt(100 * mib)
	full.MaxPartitionCount, full.Partitions = 1, []Partition{msr(1*mib, 1*mib)}
	usable := gpt(100 * mib)
	usable.StartingUsableOffset, usable.UsableLength = 1<<62, 1<<62
	idError := errors.New("no randomness")
	for _, test := range []struct {
		name   string
		layout DriveLayout
		newID  func() (guid.GUID, error)
		want   error // nil: any
	}{
		{"RAW", DriveLayout{Style: PARTITION_STYLE_RAW}, counter(), nil},
		{"MBR", DriveLayout{Style: PARTITION_STYLE_MBR, UsableLength: 100 * mib}, counter(), nil},
		{"negative length", gpt(100*mib, negative), counter(), nil},
		{"end that overflows", gpt(100*mib, beyond), counter(), nil},
		{"usable end that overflows", usable, counter(), nil},
		{"full table", full, counter(), ErrNoSpace},
		{"no id", gpt(100 * mib), func() (guid.GUID, error) { return guid.GUID{}, idError }, idError},
	} {
		l, p, err := PlanDataPartition(test.layout, 0, test.newID)
		if err == nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, %+v, %v, want %v", test.name, sketch(l.Partitions), p, err, test.want)
		}
	}
}

func TestHasDataPartition(t *testing.T) {
	efi := Partition{Type: PartitionEFISystem, StartingOffset: 1 * mib, Length: 100 * mib}
	ldm := Partition{Type: PartitionLDMMetadata, StartingOffset: 1 * mib, Length: 1 * mib}
	mbr := func(entries ...Partition) DriveLayout {
		return DriveLayout{Style: PARTITION_STYLE_MBR, Partitions: entries}
	}
	for _, test := range []struct {
		name   string
		layout DriveLayout
		want   bool
	}{
		{"RAW", DriveLayout{Style: PARTITION_STYLE_RAW, Partitions: gpt(gib, basic(mib, mib)).Partitions}, false},
		{"empty GPT", gpt(gib), false},
		{"MSR only", gpt(gib, msr(mib, mib)), false},
		{"empty entry", gpt(gib, basic(mib, 0)), false},
		{"basic data", gpt(gib, msr(mib, mib), basic(2*mib, mib)), true},
		{"EFI after basic data", gpt(gib, efi, msr(101*mib, mib), basic(102*mib, mib), basic(103*mib, mib)), true},
		{"dynamic disk", gpt(gib, ldm), true},
		{"foreign type", gpt(gib, Partition{Type: exampleGUID1, StartingOffset: mib, Length: mib}), true},
		{"MBR with four empty entries", mbr(make([]Partition, 4)...), false},
		{"MBR with NTFS", mbr(Partition{MBRType: 7, StartingOffset: mib, Length: mib, Number: 1}, Partition{}), true},
		{"MBR entry without length", mbr(Partition{MBRType: 7}), false},
	} {
		if got := test.layout.HasDataPartition(); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func TestMaxLength(t *testing.T) {
	mbr := DriveLayout{Style: PARTITION_STYLE_MBR, Partitions: []Partition{
		{Style: PARTITION_STYLE_MBR, MBRType: 7, StartingOffset: mib, Length: mib},
		{Style: PARTITION_STYLE_MBR, MBRType: 15, StartingOffset: 10 * mib, Length: 10 * mib},
		{Style: PARTITION_STYLE_MBR, MBRType: 7, StartingOffset: 11 * mib, Length: mib},
	}}
	withSize := mbr
	withSize.UsableLength = 100 * mib
	for _, test := range []struct {
		name   string
		layout DriveLayout
		index  int
		want   int64
	}{
		{"up to the end", gpt(100*mib, basic(mib, mib)), 0, 98 * mib},
		{"up to the next one", gpt(100*mib, basic(mib, mib), basic(50*mib, mib)), 0, 49 * mib},
		{"next one not aligned", gpt(100*mib, basic(mib, mib), basic(50*mib+512, mib)), 0, 49 * mib},
		{"next one first in the table", gpt(100*mib, basic(50*mib, mib), basic(mib, mib)), 1, 49 * mib},
		{"empty entries do not count", gpt(100*mib, basic(mib, mib), basic(2*mib, 0)), 0, 98 * mib},
		{"start not aligned", gpt(100*mib, basic(17408, mib)), 0, 99*mib - 17408},
		{"never shorter", gpt(100*mib, basic(mib, 98*mib+512*kib)), 0, 98*mib + 512*kib},
		{"MBR does not tell", mbr, 1, 10 * mib},
		{"MBR of known size", DriveLayout{Style: PARTITION_STYLE_MBR, UsableLength: 100 * mib,
			Partitions: mbr.Partitions[:1]}, 0, 99 * mib},
		{"container of logical drives", withSize, 1, 10 * mib},
		{"MBR up to the next one", withSize, 0, 9 * mib},
		{"logical drive stays in its container", withSize, 2, 9 * mib},
	} {
		if got := MaxLength(test.layout, test.layout.Partitions[test.index]); got != test.want {
			t.Errorf("%s: got %d KiB, want %d KiB", test.name, got/kib, test.want/kib)
		}
	}
}
