// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/gpt"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// extent is the place of a new partition, in bytes.
type extent struct {
	kind     guid.GUID
	name     string
	from, to uint64
}

const (
	minFormattedBytes = 64 << 20  // leaves room for a volume after the reserved partition
	minBootBytes      = 256 << 20 // and after the partition to boot from
)

// createNTFSDisk writes the tables of a disk that has been in use, or of disk 0 as Windows Setup makes them, and an
// empty file system in the data partition at the end. It returns that partition's volume.
func (h *host) createNTFSDisk(dir string, record diskState) (guid.GUID, error) {
	im, err := h.openImage(dir, record.Image)
	if err != nil {
		return guid.GUID{}, err
	}
	defer im.file.Close()
	if record.Table == tableMBR {
		return h.createMBR(im, record)
	}
	return h.createGPT(im, record)
}

// createGPT makes the reserved partitions and, after them, a basic data partition.
func (h *host) createGPT(im *image, record diskState) (guid.GUID, error) {
	const mib = 1 << 20
	reserved := []extent{{win32.PartitionMSR, msrName, mib, 16 * mib}}
	if record.System || record.Boot {
		reserved = []extent{
			{win32.PartitionEFISystem, "EFI system partition", mib, 101 * mib},
			{win32.PartitionMSR, msrName, 101 * mib, 117 * mib},
		}
	}
	sector := uint64(record.SectorSize)
	t, err := gpt.New(newGUID(), int(sector), im.size)
	if err != nil {
		return guid.GUID{}, err
	}
	add := func(p extent, attributes uint64) {
		t.Partitions = append(t.Partitions, gpt.Partition{
			Slot: len(t.Partitions), Type: p.kind, ID: newGUID(), Name: p.name, Attributes: attributes,
			First: p.from / sector, Last: p.to/sector - 1,
		})
	}
	from := uint64(mib)
	for _, p := range reserved {
		add(p, win32.GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER)
		from = p.to
	}
	add(extent{win32.PartitionBasicData, "Basic data partition", from, (t.LastUsable + 1) * sector / mib * mib}, 0)
	if err := t.Check(); err != nil {
		return guid.GUID{}, err
	}
	last := t.Partitions[len(t.Partitions)-1]
	blocks := newNTFS(int64(sector), int64(last.First*sector), int64(last.Sectors()*sector))
	return last.ID, im.commit(change{Blocks: append(t.Encode(), blocks...)})
}

// createMBR makes, on a disk to boot from, the active partition that Windows Setup calls System Reserved, and then one
// for data; both are NTFS.
func (h *host) createMBR(im *image, record diskState) (guid.GUID, error) {
	const mib, ifs = 1 << 20, 0x07
	sector := int64(record.SectorSize)
	m := mbr{signature: newSignature()}
	var blocks []gpt.Block
	add := func(from, to int64, active bool) guid.GUID {
		m.partitions = append(m.partitions, mbrPartition{
			slot: len(m.partitions), boot: active, kind: ifs, first: uint32(from / sector),
			sectors: uint32((to - from) / sector),
		})
		blocks = append(blocks, newNTFS(sector, from, to-from)...)
		return mbrVolume(m.signature, from)
	}
	from := int64(mib)
	if record.System || record.Boot {
		add(mib, 101*mib, true)
		from = 101 * mib
	}
	id := add(from, min(im.size/mib, 2<<20)*mib, false) // an MBR ends at 2 TiB
	blocks = append(blocks, gpt.Block{Offset: 0, Data: m.encode(make([]byte, sector))})
	return id, im.commit(change{Blocks: blocks})
}
