// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/gpt"
)

// change is one atomic change of a disk: blocks of its image, volumes whose files go with it, and volumes that get
// other names and keep their files.
type change struct {
	blocks  []gpt.Block
	empty   []guid.GUID
	renamed []renamedVolume
}

// renamedVolume is a volume of a clone that gets an identity of its own.
type renamedVolume struct{ from, to guid.GUID }

// maxJournalBytes is more than any change has. Older programs wrote the bitmap of an NTFS of 16 TiB, with half of it.
const maxJournalBytes = 1 << 30

// The second magic is that of a change with renamed volumes, which older programs refuse to apply in part.
const (
	journalMagic  = "emudisk1"
	journalMagic2 = "emudisk2"
)

var (
	errJournalShort    = errors.New("the journal is cut off")
	errJournalChecksum = errors.New("the journal's checksum is wrong")
	errJournalContent  = errors.New("the journal's content is not a change of a disk")
)

// encode returns the journal file: magic, counts, blocks with offset and length, volumes, pairs of renamed volumes, and
// the SHA-256 of all that.
func (c change) encode() []byte {
	le := binary.LittleEndian
	b := []byte(journalMagic)
	if len(c.renamed) > 0 {
		b = []byte(journalMagic2)
	}
	b = le.AppendUint32(b, uint32(len(c.blocks)))
	b = le.AppendUint32(b, uint32(len(c.empty)))
	for _, block := range c.blocks {
		b = le.AppendUint64(b, uint64(block.Offset))
		b = le.AppendUint32(b, uint32(len(block.Data)))
		b = append(b, block.Data...)
	}
	for _, id := range c.empty {
		raw := id.ToWindowsArray()
		b = append(b, raw[:]...)
	}
	for _, r := range c.renamed {
		from, to := r.from.ToWindowsArray(), r.to.ToWindowsArray()
		b = append(append(b, from[:]...), to[:]...)
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

func decodeChange(file []byte) (change, error) {
	if len(file) < len(journalMagic)+8+sha256.Size {
		return change{}, errJournalShort
	}
	b, sum := file[:len(file)-sha256.Size], file[len(file)-sha256.Size:]
	if want := sha256.Sum256(b); !bytes.Equal(sum, want[:]) {
		return change{}, errJournalChecksum
	}
	magic := string(b[:len(journalMagic)])
	if magic != journalMagic && magic != journalMagic2 {
		return change{}, errJournalContent
	}
	le := binary.LittleEndian
	blocks, volumes := le.Uint32(b[8:]), le.Uint32(b[12:])
	b = b[16:]
	var c change
	for range blocks {
		if len(b) < 12 {
			return change{}, errJournalContent
		}
		offset, size := int64(le.Uint64(b)), le.Uint32(b[8:])
		if b = b[12:]; offset < 0 || uint64(size) > uint64(len(b)) {
			return change{}, errJournalContent
		}
		c.blocks = append(c.blocks, gpt.Block{Offset: offset, Data: slices.Clone(b[:size])})
		b = b[size:]
	}
	for range volumes {
		if len(b) < 16 {
			return change{}, errJournalContent
		}
		c.empty = append(c.empty, guid.FromWindowsArray([16]byte(b[:16])))
		b = b[16:]
	}
	for ; magic == journalMagic2 && len(b) >= 32; b = b[32:] {
		c.renamed = append(c.renamed, renamedVolume{guid.FromWindowsArray([16]byte(b[:16])),
			guid.FromWindowsArray([16]byte(b[16:32]))})
	}
	if len(b) != 0 || magic == journalMagic2 && len(c.renamed) == 0 {
		return change{}, errJournalContent
	}
	return c, nil
}
