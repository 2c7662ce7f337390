// SPDX-License-Identifier: Apache-2.0

package ntfs_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/ntfs"
)

// grow makes an image longer, and its file system with it.
func grow(t *testing.T, image string, size, sector int64) {
	t.Helper()
	must(t, os.Truncate(image, size))
	f, err := os.Open(image)
	must(t, err)
	defer f.Close()
	blocks, err := ntfs.Grow(f, uint64(size/sector)-1)
	must(t, err)
	write(t, image, blocks)
}

func TestToolsAcceptWhatHasGrown(t *testing.T) {
	for _, test := range []struct {
		name    string
		image   func(t *testing.T) string
		sector  int64
		cluster int64
		to      []int64
		long    bool
	}{
		{"own", func(t *testing.T) string { return formatted(t, 64*mib, 512) }, 512, 4096,
			[]int64{64*mib + 4096, 200 * mib, 2000 * mib}, true},
		{"own, full", func(t *testing.T) string { return formatted(t, mib, 512) }, 512, 4096, []int64{2 * mib}, false},
		{"own, large sectors", func(t *testing.T) string { return formatted(t, 64*mib, 4096) }, 4096, 4096,
			[]int64{64*mib + 4096, 200 * mib}, true},
		{"mkntfs", func(t *testing.T) string { return mkntfs(t, 64*mib) }, 512, 4096, []int64{65 * mib, 1000 * mib}, false},
		{"mkntfs, a copy of all records", func(t *testing.T) string { return mkntfs(t, 64*mib, "-c", "65536") }, 512, 65536,
			[]int64{128 * mib}, false},
		{"mkntfs, small clusters", func(t *testing.T) string { return mkntfs(t, 64*mib, "-c", "512") }, 512, 512,
			[]int64{65 * mib, 128 * mib}, true},
		{"mkntfs, large clusters", func(t *testing.T) string { return mkntfs(t, 64*mib, "-c", "262144") }, 512, 262144,
			[]int64{128 * mib}, true},
		{"mkntfs, large sectors", func(t *testing.T) string { return mkntfs(t, 64*mib, "-s", "4096") }, 4096, 4096,
			[]int64{1000 * mib}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			long := os.Getenv("CSI_PROXY_LONG") != ""
			if test.long && !long {
				t.Skip("require CSI_PROXY_LONG")
			}
			image := test.image(t)
			content := strings.Repeat("precious ", 100_000)
			if free := number(t, image, "Free Clusters"); free < 200 {
				content = content[:(free-20)*test.cluster] // as far as the last cluster, but for some that the MFT gets
			}
			source := filepath.Join(t.TempDir(), "file")
			must(t, os.WriteFile(source, []byte(content), 0o600))
			tool(t, "ntfscp", "-f", image, source, "file")
			if !long { // in one step
				test.to = test.to[len(test.to)-1:]
			}
			for _, size := range test.to {
				free, all := number(t, image, "Free Clusters"), number(t, image, "Volume Size in Clusters")
				grow(t, image, size, test.sector)
				intact(t, image)
				freeNow, allNow := number(t, image, "Free Clusters"), number(t, image, "Volume Size in Clusters")
				if want := (size - test.sector) / test.cluster; allNow != want {
					t.Errorf("it has %d clusters and should have %d", allNow, want)
				}
				bitmap := (allNow-all)/8/test.cluster + 1 // more clusters for $Bitmap, at most
				if more := freeNow - free; more > allNow-all || more < allNow-all-bitmap {
					t.Errorf("%d clusters more, of which %d are free", allNow-all, more)
				}
			}
			if got := tool(t, "ntfscat", "-f", image, "file"); !strings.HasSuffix(got, content) {
				t.Errorf("the file has changed: %d bytes", len(got))
			}
		})
	}
}

// Where nothing is known about the clusters, nothing is changed.
func TestGrowRefuses(t *testing.T) {
	const size = mib
	v := volumeOf(size, 512)
	image := make([]byte, size)
	var mft, log int64
	for _, b := range v.Format(time.Unix(0, 0)) {
		copy(image[b.Offset:], b.Data)
		if bytes.HasPrefix(b.Data, []byte("FILE")) {
			mft = b.Offset
		}
		if bytes.HasPrefix(b.Data, []byte("RSTR")) {
			log = b.Offset
		}
	}
	le := binary.LittleEndian
	for _, test := range []struct {
		name string
		edit func(b []byte)
	}{
		{"not larger", func([]byte) {}},
		{"no sectors a cluster", func(b []byte) { b[13] = 0 }},
		{"three sectors a cluster", func(b []byte) { b[13] = 3 }},
		{"sectors of 7 bytes", func(b []byte) { b[11] = 7 }},
		{"file records of 2 bytes", func(b []byte) { b[64] = 0xFF }},
		{"the MFT behind the volume", func(b []byte) { le.PutUint64(b[48:], size) }},
		{"no copy of the MFT", func(b []byte) { le.PutUint64(b[56:], 0) }},
		{"another MFT", func(b []byte) { copy(b[mft-4096:], b[mft:mft+24<<10]); le.PutUint64(b[48:], uint64(mft/4096-1)) }},
		{"no mark", func(b []byte) { b[mft+6<<10] = 'B' }},
		{"torn", func(b []byte) { b[mft+6<<10+1022]++ }},
		{"$Bitmap is not in use", func(b []byte) { b[mft+6<<10+0x16] = 0 }},
		{"$BadClus is not there", func(b []byte) { clear(b[mft+8<<10 : mft+9<<10]) }},
		{"$LogFile is not there", func(b []byte) { clear(b[mft+2<<10 : mft+3<<10]) }},
		{"$Bitmap has more file records", func(b []byte) { b[mft+6<<10+0x38] = 0x20 }},
		{"$Bitmap has a hole", func(b []byte) {
			a := attribute(b[mft+6<<10:], 0x80)
			pairs := a[le.Uint16(a[32:]):]
			copy(pairs[1+pairs[0]&15+pairs[0]>>4:], []byte{1, 1, 0}) // behind its clusters
		}},
		{"$Bitmap is larger than it can be", func(b []byte) { le.PutUint64(attribute(b[mft+6<<10:], 0x80)[48:], 4096) }},
		{"$Bitmap is smaller than it can be", func(b []byte) { le.PutUint64(attribute(b[mft+6<<10:], 0x80)[48:], 248) }},
		{"waits for chkdsk", func(b []byte) { setVolumeFlags(b[mft+3<<10:], 1) }},
		{"is checked", func(b []byte) { setVolumeFlags(b[mft+3<<10:], 0x4000) }},
		{"the log is in use", func(b []byte) { b[log+0x30+12], b[log+0x30+13], b[log+0x30+14] = 0, 0, 0 }},
		{"the log's newer page is in use", func(b []byte) {
			b[log+4096+0x30]++ // a later number
			b[log+4096+0x30+12], b[log+4096+0x30+13], b[log+4096+0x30+14] = 0, 0, 0
		}},
		{"the log is zero", func(b []byte) { clear(b[log : log+8192]) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := bytes.Clone(image)
			test.edit(b)
			sectors := v.Sectors + 8
			if test.name == "not larger" {
				sectors = v.Sectors
			}
			if _, err := ntfs.Grow(bytes.NewReader(b), sectors); err == nil {
				t.Error("it grows")
			}
		})
	}
	if _, err := ntfs.Grow(bytes.NewReader(image), v.Sectors+8); err != nil {
		t.Errorf("unchanged, it does not grow: %v", err)
	}
	b := bytes.Clone(image)
	copy(b[log:], bytes.Repeat([]byte{0xFF}, 8192)) // as ntfs-3g and ntfsfix leave it
	if _, err := ntfs.Grow(bytes.NewReader(b), v.Sectors+8); err != nil {
		t.Errorf("with an emptied log it does not grow: %v", err)
	}
}

// attribute returns a file record from an attribute on.
func attribute(record []byte, kind uint32) []byte {
	le := binary.LittleEndian
	for at := int(le.Uint16(record[0x14:])); ; at += int(le.Uint32(record[at+4:])) {
		if le.Uint32(record[at:]) == kind {
			return record[at:]
		}
	}
}

// setVolumeFlags changes the flags in the file record of $Volume.
func setVolumeFlags(record []byte, flags uint16) {
	a, le := attribute(record, 0x70), binary.LittleEndian
	le.PutUint16(a[le.Uint16(a[20:])+10:], flags)
}

// A boot sector without an MFT, which older versions made, has nothing but its number of sectors.
func TestGrowABootSector(t *testing.T) {
	const size = 8 * mib
	v := volumeOf(size, 512)
	image := make([]byte, size)
	for _, b := range v.Format(time.Unix(0, 0)) {
		if b.Offset == 0 {
			copy(image, b.Data[:512])
		}
	}
	want := bytes.Clone(image[:512])
	binary.LittleEndian.PutUint64(want[40:], v.Sectors+8)
	blocks, err := ntfs.Grow(bytes.NewReader(image), v.Sectors+8)
	must(t, err)
	if len(blocks) != 2 || blocks[0].Offset != size+7*512 || blocks[1].Offset != 0 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for _, b := range blocks {
		if !bytes.Equal(b.Data, want) {
			t.Errorf("the sector at %d has changed in more than the number of sectors", b.Offset)
		}
	}
}

// Whatever a volume holds, Grow comes to an end, and what it changes lies within the volume.
func FuzzGrow(f *testing.F) {
	const size = mib
	v := volumeOf(size, 512)
	image := make([]byte, size)
	var mft int64
	for _, b := range v.Format(time.Unix(0, 0)) {
		copy(image[b.Offset:], b.Data)
		if bytes.HasPrefix(b.Data, []byte("FILE")) {
			mft = b.Offset
		}
	}
	f.Add(uint32(0), image[:80])
	f.Add(uint32(mft+6<<10), image[mft+6<<10:mft+7<<10])
	f.Add(uint32(mft+8<<10), image[mft+8<<10:mft+9<<10])
	f.Fuzz(func(t *testing.T, at uint32, content []byte) {
		b := bytes.Clone(image)
		copy(b[min(at, size):], content)
		const sectors = 2 * size / 512
		blocks, err := ntfs.Grow(bytes.NewReader(b), sectors)
		if err != nil {
			return
		}
		sector := int64(binary.LittleEndian.Uint16(b[11:]))
		for _, block := range blocks {
			if block.Offset < 0 || block.Offset+block.Size > (sectors+1)*sector || int64(len(block.Data)) > block.Size {
				t.Errorf("%d bytes at %d", block.Size, block.Offset)
			}
		}
	})
}
