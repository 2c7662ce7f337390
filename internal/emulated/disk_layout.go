// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"slices"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/gpt"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ondisk"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

// createDisk is IOCTL_DISK_CREATE_DISK: an empty table replaces whatever was there.
func (d *disk) createDisk(in, _ []byte) (int, error) {
	want, err := parsed(deviceside.ParseCreateDisk(in))
	if err != nil {
		return 0, err
	}
	if d.node.state.Switches.CreateDiskClears && !d.record.System {
		if err := d.setAttributes(false, false); err != nil {
			return 0, err
		}
	}
	if err := d.replaceable(); err != nil {
		return 0, err
	}
	if want.Style != win32.PARTITION_STYLE_GPT {
		return 0, win32.ERROR_NOT_SUPPORTED // not emulated
	}
	return 0, d.createGPT(want, d.node.disks.identities(d))
}

// replaceable fails for a disk that cannot be written, and for the system disk.
func (d *disk) replaceable() error {
	if d.record.System {
		return win32.ERROR_ACCESS_DENIED
	}
	return d.writable()
}

// msrEnd ends the Microsoft reserved partition as Windows makes it on small disks, from the table on.
const msrEnd = 16 << 20

func (d *disk) createGPT(want win32.CreateDisk, others map[guid.GUID]bool) error {
	if want.DiskID == (guid.GUID{}) {
		want.DiskID = gpt.NewGUID()
	}
	if others[want.DiskID] || want.MaxPartitionCount > 128 {
		return win32.ERROR_INVALID_PARAMETER
	}
	t, err := gpt.New(want.DiskID, int(d.record.SectorSize), d.image.Size)
	if err != nil {
		return win32.ERROR_INVALID_PARAMETER
	}
	s := d.node.state.Switches
	if s.MSR == scenario.MSRImmediate {
		t = d.withMSR(t)
	}
	if err := d.write(append(d.clearBackup(), t.Encode()...)); err != nil {
		return err
	}
	d.msrIn, d.msrLate = 0, s.MSR == scenario.MSRLate
	if s.MSR == scenario.MSRDelayed {
		d.msrIn = 3
	}
	return nil
}

// withMSR returns the table with a reserved partition in slot 0, or unchanged if it has one already or has no room.
func (d *disk) withMSR(t *gpt.Table) *gpt.Table {
	next := *t
	next.Partitions = append(t.Sorted(), gpt.Partition{
		Slot: freeSlot(t.Partitions), Type: win32.PartitionMSR, ID: gpt.NewGUID(),
		First: t.FirstUsable, Last: msrEnd/uint64(d.sectorSize()) - 1, Name: bundle.MSRName,
	})
	isMSR := func(p gpt.Partition) bool { return p.Type == win32.PartitionMSR }
	if slices.ContainsFunc(t.Partitions, isMSR) || next.Check() != nil {
		return t
	}
	return &next
}

// clearBackup returns the block that makes the backup of the current GPT unreadable, if there is one.
func (d *disk) clearBackup() []gpt.Block {
	if d.layout.GPT == nil {
		return nil
	}
	return []gpt.Block{d.layout.GPT.BackupBlock()}
}

// freeSlot returns the first free slot.
func freeSlot(partitions []gpt.Partition) int {
	for slot := 0; ; slot++ {
		if !slices.ContainsFunc(partitions, func(p gpt.Partition) bool { return p.Slot == slot }) {
			return slot
		}
	}
}

// getLayout is IOCTL_DISK_GET_DRIVE_LAYOUT_EX. A delayed reserved partition may appear.
func (d *disk) getLayout(out []byte) (int, error) {
	if d.msrIn > 0 {
		d.msrIn--
		if d.msrIn == 0 && d.layout.GPT != nil && d.writable() == nil {
			if err := d.write(d.withMSR(d.layout.GPT).Encode()); err != nil {
				return 0, err
			}
		}
	}
	return put(out, d.layout.DriveLayout().Bytes())
}

// setLayout is IOCTL_DISK_SET_DRIVE_LAYOUT_EX: the whole table is replaced, and missing partitions are deleted. A
// partition that starts where one was keeps its number; others get the lowest free number.
func (d *disk) setLayout(in, _ []byte) (int, error) {
	want, err := parsed(win32.ParseDriveLayout(in))
	if err != nil {
		return 0, err
	}
	if err := d.writable(); err != nil {
		return 0, err
	}
	if want.Style != d.layout.Style {
		return 0, win32.ERROR_INVALID_PARAMETER
	}
	if d.msrLate {
		d.msrLate = false
		late := d.write(d.withMSR(d.layout.GPT).Encode())
		return 0, errors.Join(win32.ERROR_INVALID_PARAMETER, late)
	}
	var blocks []gpt.Block
	switch want.Style {
	case win32.PARTITION_STYLE_GPT:
		blocks, err = d.gptBlocks(want, d.node.disks.identities(d))
	case win32.PARTITION_STYLE_MBR:
		blocks, err = d.mbrBlocks(want)
	default:
		err = win32.ERROR_INVALID_PARAMETER
	}
	if err != nil {
		return 0, err
	}
	d.msrIn = 0
	return 0, d.write(blocks)
}

func (d *disk) gptBlocks(want win32.DriveLayout, others map[guid.GUID]bool) ([]gpt.Block, error) {
	t := *d.layout.GPT
	old := t.Sorted()
	t.Partitions = nil
	used := map[guid.GUID]bool{}
	var added []gpt.Partition
	for _, p := range want.Partitions {
		if p.Length == 0 || p.Type == (guid.GUID{}) {
			continue
		}
		if p.ID == (guid.GUID{}) {
			p.ID = gpt.NewGUID()
		}
		if !d.aligned(p) || used[p.ID] || others[p.ID] {
			return nil, win32.ERROR_INVALID_PARAMETER
		}
		used[p.ID] = true
		made := gpt.Partition{
			Type: p.Type, ID: p.ID, Attributes: p.Attributes, Name: p.Name,
			First: uint64(p.StartingOffset / d.sectorSize()), Last: uint64((p.StartingOffset+p.Length)/d.sectorSize()) - 1,
		}
		was := slices.IndexFunc(old, func(o gpt.Partition) bool { return o.First == made.First })
		if was < 0 {
			added = append(added, made)
			continue
		}
		made.Slot = old[was].Slot
		t.Partitions = append(t.Partitions, made)
	}
	for _, p := range added {
		p.Slot = freeSlot(t.Partitions)
		t.Partitions = append(t.Partitions, p)
	}
	lost := func(p gpt.Partition) bool { return !used[p.ID] }
	if d.record.System && slices.ContainsFunc(old, lost) {
		return nil, win32.ERROR_ACCESS_DENIED
	}
	if t.Check() != nil {
		return nil, win32.ERROR_INVALID_PARAMETER
	}
	return t.Encode(), nil
}

// aligned checks that a partition covers whole sectors of the disk.
func (d *disk) aligned(p win32.Partition) bool {
	return p.StartingOffset >= 0 && p.Length > 0 && p.StartingOffset%d.sectorSize() == 0 &&
		p.Length%d.sectorSize() == 0 && p.Length <= d.image.Size-p.StartingOffset
}

func (d *disk) mbrBlocks(want win32.DriveLayout) ([]gpt.Block, error) {
	m := ondisk.MBR{Signature: want.Signature}
	if len(want.Partitions) > 4 {
		return nil, win32.ERROR_INVALID_PARAMETER
	}
	for slot, p := range want.Partitions {
		if p.Length == 0 || p.MBRType == 0 {
			continue
		}
		sectors := p.Length / d.sectorSize()
		made := ondisk.MBRPartition{Slot: slot, Boot: p.Boot, Kind: p.MBRType,
			First: uint32(p.StartingOffset / d.sectorSize()), Sectors: uint32(sectors)}
		if !d.aligned(p) || p.StartingOffset == 0 || (p.StartingOffset+p.Length)/d.sectorSize() > 1<<32 ||
			p.MBRType == ondisk.MBRProtective || slices.ContainsFunc(m.Partitions, made.Overlaps) {
			return nil, win32.ERROR_INVALID_PARAMETER
		}
		m.Partitions = append(m.Partitions, made)
	}
	sector := make([]byte, d.record.SectorSize)
	if _, err := d.image.File.ReadAt(sector, 0); err != nil {
		return nil, err
	}
	return []gpt.Block{{Offset: 0, Data: m.Encode(sector)}}, nil
}
