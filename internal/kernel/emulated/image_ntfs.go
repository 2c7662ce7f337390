// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/gpt"
	"github.com/kubernetes-csi/csi-proxy/internal/ntfs"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// formatBlocks returns the blocks of a new NTFS in a part of the image. The last sector of the part is not in the file
// system: it holds the copy of the boot sector.
func (im *image) formatBlocks(sectorSize, offset, length int64, now time.Time) ([]gpt.Block, error) {
	v := ntfs.Volume{
		SectorSize: uint32(sectorSize), Sectors: uint64(length/sectorSize) - 1,
		Hidden: uint64(offset / sectorSize), Serial: newSerial(),
	}
	return im.differing(offset, v.Format(now))
}

// differing returns what must be written to give a part of the image the content of blocks. Most of them are zeros, and
// most of the image is a hole, which stays one.
func (im *image) differing(offset int64, blocks []ntfs.Block) ([]gpt.Block, error) {
	if im.half { // first finish the change that failed halfway
		if err := im.replay(); err != nil {
			return nil, err
		}
	}
	const pages, page = 64 << 10, 4096
	there, want := make([]byte, pages), make([]byte, pages)
	var out []gpt.Block
	for _, b := range blocks {
		for done := int64(0); done < b.Size; done += pages {
			if done >= int64(len(b.Data)) { // zeros from here on, as in a hole
				done += im.hole(offset+b.Offset+done) / page * page
			}
			at, size := offset+b.Offset+done, min(pages, b.Size-done)
			if size <= 0 {
				break
			}
			if _, err := im.file.ReadAt(there[:size], at); err != nil {
				return nil, err
			}
			n := copy(want, b.Data[min(done, int64(len(b.Data))):])
			clear(want[n:])
			for from := int64(0); from < size; from += page {
				to := min(from+page, size)
				if bytes.Equal(there[from:to], want[from:to]) {
					continue
				}
				if last := len(out) - 1; last >= 0 && out[last].Offset+int64(len(out[last].Data)) == at+from {
					out[last].Data = append(out[last].Data, want[from:to]...)
				} else {
					out = append(out, gpt.Block{Offset: at + from, Data: slices.Clone(want[from:to])})
				}
			}
		}
	}
	return out, nil
}

// hole returns how many bytes from an offset on were never written, as far as the host knows.
func (im *image) hole(offset int64) int64 {
	data, _, err := NextData(im.file, offset, im.size)
	if err != nil {
		return 0
	}
	return max(data-offset, 0)
}

// growBlocks returns the blocks by which the NTFS on the volume gets a number of sectors. One that must not be touched
// before it is repaired gives ERROR_DISK_CORRUPT.
func (v *volume) growBlocks(sectors int64) ([]gpt.Block, error) {
	im := v.disk.image
	blocks, err := ntfs.Grow(io.NewSectionReader(im.file, v.offset, v.length), uint64(sectors))
	var host *fs.PathError
	if err != nil && !errors.As(err, &host) {
		err = errors.Join(win32.ERROR_DISK_CORRUPT, err)
	}
	if err != nil {
		return nil, err
	}
	return im.differing(v.offset, blocks)
}
