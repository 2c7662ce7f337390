// SPDX-License-Identifier: Apache-2.0

package ondisk

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/Microsoft/go-winio/pkg/guid"
	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// disk is a medium in memory.
type disk []byte

func (d disk) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 || offset+int64(len(p)) > int64(len(d)) {
		return 0, errors.New("outside the medium")
	}
	return copy(p, d[offset:]), nil
}

func (d disk) write(blocks []Block) {
	for _, b := range blocks {
		copy(d[b.Offset:], b.Data)
	}
}

func sample(t testing.TB, sectorSize int, sizeBytes int64) *GPT {
	t.Helper()
	table := NewGPT(guid.GUID{Data1: 0xd15c}, sectorSize, sizeBytes)
	const mib = 1 << 20
	end := int64(table.LastUsable+1) * int64(sectorSize)
	table.Partitions = []win32.Partition{
		{Style: win32.PARTITION_STYLE_GPT, Number: 1, Type: win32.PartitionBasicData, ID: guid.GUID{Data1: 1},
			StartingOffset: mib, Length: mib, Attributes: 1 << 63, Name: "Größe 🗄"},
		{Style: win32.PARTITION_STYLE_GPT, Number: 6, Type: win32.PartitionBasicData, ID: guid.GUID{Data1: 2},
			StartingOffset: 2 * mib, Length: end - 2*mib, Name: strings.Repeat("n", 36)},
	}
	return table
}

func TestTablesSurviveTheirEncoding(t *testing.T) {
	for _, sectorSize := range []int{512, 4096} {
		d := make(disk, 4<<20)
		want := sample(t, sectorSize, int64(len(d)))
		d.write(want.Encode())
		for damage, at := range map[string]int{"none": 0, "backup header": len(d) - sectorSize + 20,
			"primary header": sectorSize + 60, "primary entries": 2*sectorSize + 3} {
			copied := append(disk(nil), d...)
			copied[at] ^= 0xFF
			if diff := cmp.Diff(want, readGPT(copied, sectorSize, int64(len(d)))); diff != "" {
				t.Errorf("%d bytes a sector, damage: %s (-want +got):\n%s", sectorSize, damage, diff)
			}
		}
	}
}

func TestResize(t *testing.T) {
	d := make(disk, 8<<20)
	table := sample(t, 512, 4<<20)
	d.write(table.Encode())
	old := table.BackupBlock()
	table.Resize(8 << 20)
	d.write(append([]Block{old}, table.Encode()...))
	d[600] ^= 1 // only the backup is left
	if got := readGPT(d, 512, 8<<20); got == nil || got.LastUsable != 8<<20/512-34 || len(got.Partitions) != 2 {
		t.Errorf("got %+v", got)
	}
	if strings.Contains(string(d[2<<20:6<<20]), signature) {
		t.Error("the old backup is still there")
	}
}

func TestNoTable(t *testing.T) {
	for name, d := range map[string]disk{"empty": {}, "tiny": make(disk, 1000), "zero": make(disk, 1<<20)} {
		if got := readGPT(d, 512, int64(len(d))); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestValid(t *testing.T) {
	for name, edit := range map[string]func(*GPT){
		"overlap":       func(t *GPT) { t.Partitions[0].Length += 512 },
		"backwards":     func(t *GPT) { t.Partitions[0].Length = -512 },
		"empty":         func(t *GPT) { t.Partitions[0].Length = 0 },
		"half sector":   func(t *GPT) { t.Partitions[0].Length -= 256 },
		"between":       func(t *GPT) { t.Partitions[0].StartingOffset += 256 },
		"table":         func(t *GPT) { t.Partitions[0].StartingOffset = 33 * 512 },
		"past end":      func(t *GPT) { t.Partitions[1].Length += 512 },
		"far past":      func(t *GPT) { t.Partitions[1].StartingOffset = math.MaxInt64 - 511 },
		"endless":       func(t *GPT) { t.Partitions[1].Length = math.MaxInt64 - 511 },
		"number twice":  func(t *GPT) { t.Partitions[1].Number = 1 },
		"number beyond": func(t *GPT) { t.Partitions[1].Number = 129 },
		"no number":     func(t *GPT) { t.Partitions[0].Number = 0 },
		"no type":       func(t *GPT) { t.Partitions[1].Type = guid.GUID{} },
	} {
		table := sample(t, 512, 4<<20)
		if !table.Valid() {
			t.Fatal("refused")
		}
		edit(table)
		if table.Valid() {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestSgdiskFindsNoProblem(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("sgdisk is a tool of Linux; what it reads is the same bytes there")
	}
	tool, err := exec.LookPath("sgdisk")
	if err != nil {
		t.Fatal("install the package gdisk: ", err)
	}
	d := make(disk, 4<<20)
	d.write(sample(t, 512, int64(len(d))).Encode())
	image := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(image, d, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "-v", "-i", "6", image).CombinedOutput()
	text := string(out)
	if err != nil || !strings.Contains(text, "No problems found") || strings.Contains(text, "Creating new GPT") ||
		!strings.Contains(text, strings.Repeat("n", 36)) {
		t.Errorf("%v\n%s", err, text)
	}
}

// fix writes the signature, the place and correct checksums to the primary header of a medium.
func fix(m disk) {
	le := binary.LittleEndian
	h := m[512:1024]
	copy(h, signature)
	le.PutUint32(h[12:], headerSize)
	le.PutUint64(h[24:], 1)
	le.PutUint32(h[84:], entrySize)
	slots := le.Uint32(h[80:])%maxSlots + 1
	le.PutUint32(h[80:], slots)
	at := le.Uint64(h[72:]) % uint64(len(m)/512)
	le.PutUint64(h[72:], at)
	if end := at*512 + uint64(slots)*entrySize; end <= uint64(len(m)) {
		le.PutUint32(h[88:], crc32.ChecksumIEEE(m[at*512:end]))
	}
	le.PutUint32(h[16:], 0)
	le.PutUint32(h[16:], crc32.ChecksumIEEE(h[:headerSize]))
}

// An entry whose place in bytes needs more than 64 bits is damage, and not a place near the start.
func TestEntryBeyondAllMedia(t *testing.T) {
	d := make(disk, 4<<20)
	want := sample(t, 512, int64(len(d)))
	d.write(want.Encode())
	le := binary.LittleEndian
	le.PutUint64(d[1024+32:], 1<<55+100)
	le.PutUint64(d[1024+40:], 1<<55+200)
	le.PutUint32(d[512+80:], defaultSlots-1) // fix adds one
	fix(d)
	if diff := cmp.Diff(want, readGPT(d, 512, int64(len(d)))); diff != "" {
		t.Errorf("not the backup (-want +got):\n%s", diff)
	}
}

func FuzzReadGPT(f *testing.F) {
	d := make(disk, 128<<10)
	table := NewGPT(guid.GUID{Data1: 1}, 512, int64(len(d)))
	table.Partitions = []win32.Partition{{Number: 1, Type: win32.PartitionBasicData, ID: guid.GUID{Data1: 2},
		StartingOffset: 40 * 512, Length: 11 * 512, Name: "x"}}
	d.write(table.Encode())
	f.Add([]byte(d[512:1024]), []byte(d[1024:1152]), true)
	f.Add(make([]byte, 92), []byte{}, false)
	f.Fuzz(func(t *testing.T, head, entries []byte, sign bool) {
		m := make(disk, 128<<10)
		copy(m[1024:34*512], entries)
		copy(m[512:1024], head)
		if sign { // so that the parser gets past the checksums
			fix(m)
		}
		table := readGPT(m, 512, int64(len(m)))
		if table == nil {
			return
		}
		for _, b := range table.Encode() {
			if b.Offset < 0 || b.Offset+int64(len(b.Data)) > int64(len(m)) {
				t.Fatalf("block of %d bytes at %d", len(b.Data), b.Offset)
			}
		}
		again := make(disk, len(m))
		again.write(table.Encode())
		if diff := cmp.Diff(table, readGPT(again, 512, int64(len(m)))); diff != "" {
			t.Errorf("read again (-want +got):\n%s", diff)
		}
	})
}
