// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"slices"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ondisk"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

// createDisk is IOCTL_DISK_CREATE_DISK: an empty table replaces whatever was there.
func (d *disk) createDisk(want win32.CreateDisk) error {
	if d.record.System {
		return win32.ERROR_ACCESS_DENIED
	}
	if d.node.state.Switches.CreateDiskClears {
		if err := d.setAttributes(false, false); err != nil {
			return err
		}
	}
	if err := d.writable(); err != nil {
		return err
	}
	if want.Style != win32.PARTITION_STYLE_GPT {
		return win32.ERROR_NOT_SUPPORTED // not emulated
	}
	if want.DiskID == (guid.GUID{}) {
		want.DiskID = ondisk.NewGUID()
	}
	if d.node.disks.identities(d)[want.DiskID] || want.MaxPartitionCount > 128 {
		return win32.ERROR_INVALID_PARAMETER
	}
	t := ondisk.NewGPT(want.DiskID, int(d.record.SectorSize), d.image.Size)
	s := d.node.state.Switches
	if s.MSR == scenario.MSRImmediate {
		t = d.withMSR(t)
	}
	var blocks []ondisk.Block
	if d.layout.GPT != nil {
		blocks = append(blocks, d.layout.GPT.BackupBlock()) // makes it unreadable
	}
	if err := d.write(append(blocks, t.Encode()...)); err != nil {
		return err
	}
	d.msrIn, d.msrLate = 0, s.MSR == scenario.MSRLate
	if s.MSR == scenario.MSRDelayed {
		d.msrIn = 3
	}
	return nil
}

// msrEnd ends the Microsoft reserved partition as Windows makes it on small disks, from the table on.
const msrEnd = 16 << 20

// withMSR returns the table with a reserved partition of the lowest free number, or unchanged if it has one already or
// has no room.
func (d *disk) withMSR(t *ondisk.GPT) *ondisk.GPT {
	next := *t
	from := int64(t.FirstUsable) * d.sectorSize()
	next.Partitions = append(slices.Clone(t.Partitions), win32.Partition{
		Number: freeNumber(t.Partitions), Type: win32.PartitionMSR, ID: ondisk.NewGUID(), Name: bundle.MSRName,
		StartingOffset: from, Length: msrEnd - from,
	})
	isMSR := func(p win32.Partition) bool { return p.Type == win32.PartitionMSR }
	if slices.ContainsFunc(t.Partitions, isMSR) || !next.Valid() {
		return t
	}
	return &next
}

// freeNumber returns the lowest free number of a partition.
func freeNumber(partitions []win32.Partition) uint32 {
	for number := uint32(1); ; number++ {
		if !slices.ContainsFunc(partitions, func(p win32.Partition) bool { return p.Number == number }) {
			return number
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
func (d *disk) setLayout(want win32.DriveLayout) error {
	if err := d.writable(); err != nil {
		return err
	}
	if want.Style != d.layout.Style {
		return win32.ERROR_INVALID_PARAMETER
	}
	if d.msrLate {
		d.msrLate = false
		late := d.write(d.withMSR(d.layout.GPT).Encode())
		return errors.Join(win32.ERROR_INVALID_PARAMETER, late)
	}
	if err := d.replaceLayout(want, 0); err != nil {
		return err
	}
	d.msrIn = 0
	return nil
}

// replaceLayout writes another layout of the same style, for a disk that has become larger, or of the size that its
// table has.
func (d *disk) replaceLayout(want win32.DriveLayout, sizeBytes int64) error {
	var blocks []ondisk.Block
	err := error(win32.ERROR_INVALID_PARAMETER)
	switch want.Style {
	case win32.PARTITION_STYLE_GPT:
		blocks, err = d.gptBlocks(want, sizeBytes)
	case win32.PARTITION_STYLE_MBR:
		blocks, err = d.mbrBlocks(want)
	}
	if err != nil {
		return err
	}
	return d.write(blocks)
}

func (d *disk) gptBlocks(want win32.DriveLayout, sizeBytes int64) ([]ondisk.Block, error) {
	resized, first := d.resized(sizeBytes)
	others, t := d.node.disks.identities(d), *resized
	old := t.Partitions
	t.Partitions = nil
	used := map[guid.GUID]bool{}
	var added []win32.Partition
	for _, p := range want.Partitions {
		if p.Length == 0 || p.Type == (guid.GUID{}) {
			continue
		}
		was := slices.IndexFunc(old, func(o win32.Partition) bool { return o.StartingOffset == p.StartingOffset })
		if used[p.ID] || others[p.ID] && (was < 0 || old[was].ID != p.ID) {
			return nil, win32.ERROR_INVALID_PARAMETER
		}
		used[p.ID] = true
		if was < 0 {
			added = append(added, p)
			continue
		}
		p.Number = old[was].Number
		t.Partitions = append(t.Partitions, p)
	}
	for _, p := range added {
		p.Number = freeNumber(t.Partitions)
		t.Partitions = append(t.Partitions, p)
	}
	lost := func(p win32.Partition) bool { return !used[p.ID] }
	if d.record.System && slices.ContainsFunc(old, lost) {
		return nil, win32.ERROR_ACCESS_DENIED
	}
	if !t.Valid() {
		return nil, win32.ERROR_INVALID_PARAMETER
	}
	return append(first, t.Encode()...), nil
}

// aligned checks that a partition covers whole sectors of the disk.
func (d *disk) aligned(p win32.Partition) bool {
	return p.StartingOffset >= 0 && p.Length > 0 && p.StartingOffset%d.sectorSize() == 0 &&
		p.Length%d.sectorSize() == 0 && p.Length <= d.image.Size-p.StartingOffset
}

func (d *disk) mbrBlocks(want win32.DriveLayout) ([]ondisk.Block, error) {
	m := ondisk.MBR{Signature: want.Signature}
	if len(want.Partitions) > 4 {
		return nil, win32.ERROR_INVALID_PARAMETER
	}
	for i, p := range want.Partitions {
		if p.Length == 0 || p.MBRType == 0 {
			continue
		}
		if !d.aligned(p) || p.StartingOffset == 0 || (p.StartingOffset+p.Length)/d.sectorSize() > 1<<32 ||
			p.MBRType == ondisk.MBRProtective || m.Overlaps(p) {
			return nil, win32.ERROR_INVALID_PARAMETER
		}
		m.Partitions[i] = p
	}
	sector := make([]byte, d.record.SectorSize)
	if _, err := d.image.File.ReadAt(sector, 0); err != nil {
		return nil, err
	}
	return []ondisk.Block{{Offset: 0, Data: m.Encode(sector)}}, nil
}
