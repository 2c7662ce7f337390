// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/ntfs"
)

// What a format writes gives the image the content of the blocks, wherever something old lies between holes, and holes
// that stay zeros are not written.
func TestDifferingBetweenHoles(t *testing.T) {
	const page, size = 4096, 1 << 20
	old := []int64{1, 17, 100, 101, size/page - 2} // pages with something old in them
	file, err := os.Create(filepath.Join(t.TempDir(), "image"))
	must(t, err)
	t.Cleanup(func() { _ = file.Close() })
	must(t, file.Truncate(size))
	want := make([]byte, size)
	for _, p := range old {
		_, err := file.WriteAt(bytes.Repeat([]byte{0xA5}, page), p*page)
		must(t, err)
		copy(want[p*page:], bytes.Repeat([]byte{0xA5}, page))
	}

	const offset, length = page, size - 3*page // all but the first page and the last two
	data := []byte("the only data")
	clear(want[offset : offset+length])
	copy(want[offset:], data)
	im := &image{host: &host{}, file: file, size: size}
	blocks, err := im.differing(offset, []ntfs.Block{{Offset: 0, Size: length, Data: data}})
	must(t, err)

	var written []int64
	for _, b := range blocks {
		_, err := file.WriteAt(b.Data, b.Offset)
		must(t, err)
		for at := b.Offset; at < b.Offset+int64(len(b.Data)); at += page {
			written = append(written, at/page)
		}
	}
	got, err := os.ReadFile(file.Name())
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Error("the image has not the content of the blocks")
	}
	if want := old[:len(old)-1]; !slices.Equal(written, want) {
		t.Errorf("the pages %d are written, want %d", written, want)
	}
}
