// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ondisk"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// newFileSystem returns the blocks of an empty file system of a new disk.
func (r Record) newFileSystem(offset, length int64) []ondisk.Block {
	if r.FileSystem == setting.FileSystemExFAT {
		return []ondisk.Block{{Offset: offset, Data: ondisk.NewExFAT(int64(r.SectorSize), offset, length)}}
	}
	return ondisk.NewNTFS(int64(r.SectorSize), offset, length)
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
	t := ondisk.NewGPT(ondisk.NewGUID(), int(record.SectorSize), im.Size)
	from := int64(mib)
	add := func(kind guid.GUID, name string, to int64, attributes uint64) win32.Partition {
		p := win32.Partition{Number: uint32(len(t.Partitions)) + 1, Type: kind, ID: ondisk.NewGUID(), Name: name,
			Attributes: attributes, StartingOffset: from, Length: to - from}
		t.Partitions, from = append(t.Partitions, p), to
		return p
	}
	reserved := int64(15 * mib)
	if record.Boot {
		add(win32.PartitionEFISystem, "EFI system partition", from+100*mib, win32.GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER)
		reserved = 16 * mib
	}
	add(win32.PartitionMSR, MSRName, from+reserved, win32.GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER)
	end := int64(t.LastUsable+1) * int64(record.SectorSize)
	last := add(win32.PartitionBasicData, "Basic data partition", end/mib*mib, 0)
	return last.ID, im.Write(append(t.Encode(), record.newFileSystem(last.StartingOffset, last.Length)...))
}

// createMBR makes, on a disk to boot from, the active partition that Windows Setup calls System Reserved, and then one
// for data.
func createMBR(im *Image, record Record) (guid.GUID, error) {
	const mib, ifs = 1 << 20, 0x07
	sector := int64(record.SectorSize)
	m := ondisk.MBR{Signature: uint32(ondisk.NewSerial()) | 1} // 0 would mean none
	var blocks []ondisk.Block
	from, data := int64(mib), 0
	if record.Boot {
		m.Partitions[0] = win32.Partition{MBRType: ifs, Boot: true, StartingOffset: mib, Length: 100 * mib}
		blocks = ondisk.NewNTFS(sector, mib, 100*mib)
		from, data = 101*mib, 1
	}
	to := min(im.Size/mib, 2<<20) * mib // an MBR ends at 2 TiB
	m.Partitions[data] = win32.Partition{MBRType: ifs, StartingOffset: from, Length: to - from}
	blocks = append(blocks, record.newFileSystem(from, to-from)...)
	blocks = append(blocks, ondisk.Block{Offset: 0, Data: m.Encode(make([]byte, sector))})
	return ondisk.MBRVolumeID(m.Signature, from), im.Write(blocks)
}
