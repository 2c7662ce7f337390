// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/gpt"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ondisk"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// newFileSystem returns the blocks of an empty file system of a new disk.
func (r Record) newFileSystem(offset, length int64) []gpt.Block {
	if r.FileSystem == setting.FileSystemExFAT {
		return []gpt.Block{{Offset: offset, Data: ondisk.NewExFAT(int64(r.SectorSize), offset, length)}}
	}
	return ondisk.NewNTFS(int64(r.SectorSize), offset, length)
}

// extent is the place of a new partition, in bytes.
type extent struct {
	kind     guid.GUID
	name     string
	from, to uint64
}

// The sizes of the smallest disks.
const (
	MinFormattedBytes = 64 << 20  // leaves room for a volume after the reserved partition
	minBootBytes      = 256 << 20 // and after the partition to boot from
)

// createFormattedDisk writes the tables of a disk that has been in use, or of disk 0 as Windows Setup makes them, and
// an empty file system in the data partition at the end. It returns that partition's volume.
func createFormattedDisk(h *hostfiles.Host, home string, record Record) (guid.GUID, error) {
	im, err := Open(h, home)
	if err != nil {
		return guid.GUID{}, err
	}
	defer im.File.Close()
	if record.Table == setting.TableMBR {
		return createMBR(im, record)
	}
	return createGPT(im, record)
}

// MSRName is the name of the Microsoft reserved partition.
const MSRName = "Microsoft reserved partition"

// createGPT makes the reserved partitions and, after them, a basic data partition.
func createGPT(im *Image, record Record) (guid.GUID, error) {
	const mib = 1 << 20
	reserved := []extent{{win32.PartitionMSR, MSRName, mib, 16 * mib}}
	if record.System || record.Boot {
		reserved = []extent{
			{win32.PartitionEFISystem, "EFI system partition", mib, 101 * mib},
			{win32.PartitionMSR, MSRName, 101 * mib, 117 * mib},
		}
	}
	sector := uint64(record.SectorSize)
	t, err := gpt.New(gpt.NewGUID(), int(sector), im.Size)
	if err != nil {
		return guid.GUID{}, err
	}
	add := func(p extent, attributes uint64) {
		t.Partitions = append(t.Partitions, gpt.Partition{
			Slot: len(t.Partitions), Type: p.kind, ID: gpt.NewGUID(), Name: p.name, Attributes: attributes,
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
	blocks := record.newFileSystem(int64(last.First*sector), int64(last.Sectors()*sector))
	return last.ID, im.Write(append(t.Encode(), blocks...))
}

// createMBR makes, on a disk to boot from, the active partition that Windows Setup calls System Reserved, and then one
// for data.
func createMBR(im *Image, record Record) (guid.GUID, error) {
	const mib, ifs = 1 << 20, 0x07
	sector := int64(record.SectorSize)
	m := ondisk.MBR{Signature: uint32(ondisk.NewSerial()) | 1} // 0 would mean none
	var blocks []gpt.Block
	add := func(from, to int64, active bool, fileSystem []gpt.Block) guid.GUID {
		m.Partitions = append(m.Partitions, ondisk.MBRPartition{
			Slot: len(m.Partitions), Boot: active, Kind: ifs, First: uint32(from / sector),
			Sectors: uint32((to - from) / sector),
		})
		blocks = append(blocks, fileSystem...)
		return ondisk.MBRVolumeID(m.Signature, from)
	}
	from := int64(mib)
	if record.System || record.Boot {
		add(mib, 101*mib, true, ondisk.NewNTFS(sector, mib, 100*mib))
		from = 101 * mib
	}
	to := min(im.Size/mib, 2<<20) * mib // an MBR ends at 2 TiB
	id := add(from, to, false, record.newFileSystem(from, to-from))
	blocks = append(blocks, gpt.Block{Offset: 0, Data: m.Encode(make([]byte, sector))})
	return id, im.Write(blocks)
}
