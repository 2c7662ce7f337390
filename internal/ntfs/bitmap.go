// SPDX-License-Identifier: Apache-2.0

package ntfs

// bitmapBytes returns the size of $Bitmap, which is a multiple of eight. The bits of clusters that do not exist are
// set.
func bitmapBytes(clusters int64) int64 { return (clusters + 63) / 64 * 8 }

// bitmapPiece is how much of $Bitmap is looked at at a time.
const bitmapPiece = 64 << 10

// bitmapBlocks returns the bytes of $Bitmap from one of them to another, at their places on the volume: the bits of
// used clusters are set.
func bitmapBlocks(from, to int64, used, at []run, cluster int64) []Block {
	var blocks []Block
	start := int64(0) // of the run, within the file
	for _, r := range at {
		end := start + r.count*cluster
		for begin := max(from, start); begin < min(to, end); {
			size := min(bitmapPiece, min(to, end)-begin)
			blocks = add(blocks, Block{r.first*cluster + begin - start, size, setBits(begin, size, used)})
			begin += size
		}
		start = end
	}
	return blocks
}

// add appends a block, or makes the last one longer if that is followed by zeros and the new one is zeros.
func add(blocks []Block, b Block) []Block {
	if len(blocks) > 0 && b.Data == nil {
		if last := &blocks[len(blocks)-1]; last.Offset+last.Size == b.Offset {
			last.Size += b.Size
			return blocks
		}
	}
	return append(blocks, b)
}

// setBits returns bytes of a bitmap from a byte on, or nil if all are zero.
func setBits(begin, size int64, used []run) (b []byte) {
	for _, r := range used {
		first, last := max(r.first, begin*8), min(r.first+r.count, (begin+size)*8)
		for bit := first; bit < last; bit++ {
			if b == nil {
				b = make([]byte, size)
			}
			b[bit/8-begin] |= 1 << (bit % 8)
		}
	}
	return b
}
