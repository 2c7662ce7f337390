// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"github.com/kubernetes-csi/csi-proxy/internal/gpt"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// setDiskAttributes is IOCTL_DISK_SET_DISK_ATTRIBUTES. The setting survives restarts, whether that was asked for or not.
func (d *disk) setDiskAttributes(in, _ []byte) (int, error) {
	want, err := parsed(win32.ParseSetDiskAttributes(in))
	if err != nil {
		return 0, err
	}
	const known = win32.DISK_ATTRIBUTE_OFFLINE | win32.DISK_ATTRIBUTE_READ_ONLY
	if want.Version != d.node.state.Switches.AttributesVersion || want.AttributesMask&^known != 0 {
		return 0, win32.ERROR_INVALID_PARAMETER
	}
	bits := d.attributes()&^want.AttributesMask | want.Attributes&want.AttributesMask
	return 0, d.setAttributes(bits&win32.DISK_ATTRIBUTE_OFFLINE != 0, bits&win32.DISK_ATTRIBUTE_READ_ONLY != 0)
}

// updateDriveSize is IOCTL_DISK_UPDATE_DRIVE_SIZE, which requires a buffer for its answer.
func (d *disk) updateDriveSize(_, out []byte) (int, error) {
	n, err := put(out, d.geometry().Bytes())
	if err == nil {
		d.knownSize = d.image.size
	}
	return n, err
}

// updateProperties is IOCTL_DISK_UPDATE_PROPERTIES. After IOCTL_DISK_UPDATE_DRIVE_SIZE it fits the table to the disk's
// size, unless that is left to IOCTL_DISK_GROW_PARTITION.
func (d *disk) updateProperties(_, _ []byte) (int, error) {
	if d.node.state.Switches.GrowPartitionRefreshes || d.writable() != nil {
		return 0, nil //nolint:nilerr // a disk that cannot be written keeps its table
	}
	return 0, d.refreshTable(d.knownSize, nil)
}

// refreshTable moves the backup of the GPT to the end of the disk, and edits the table in the same change.
func (d *disk) refreshTable(sizeBytes int64, edit func(*gpt.Table) error) error {
	if d.layout.gpt == nil {
		return nil
	}
	t := *d.layout.gpt
	t.Partitions = t.Sorted()
	var blocks []gpt.Block
	if uint64(sizeBytes/d.sectorSize()) > t.Sectors {
		blocks = append(blocks, t.BackupBlock())
		if err := t.Resize(sizeBytes); err != nil {
			return err
		}
	} else if edit == nil {
		return nil
	}
	if edit != nil {
		if err := edit(&t); err != nil {
			return err
		}
	}
	return d.commit(change{blocks: append(blocks, t.Encode()...)})
}

// growPartition is IOCTL_DISK_GROW_PARTITION.
func (d *disk) growPartition(in, _ []byte) (int, error) {
	want, err := parsed(win32.ParseGrowPartition(in))
	if err != nil {
		return 0, err
	}
	if err := d.writable(); err != nil {
		return 0, err
	}
	if want.BytesToGrow <= 0 || want.BytesToGrow%d.sectorSize() != 0 || want.BytesToGrow > d.image.size {
		return 0, win32.ERROR_INVALID_PARAMETER
	}
	if d.layout.style == win32.PARTITION_STYLE_MBR {
		return 0, d.growMBRPartition(want)
	}
	if d.layout.gpt == nil {
		return 0, win32.ERROR_INVALID_PARAMETER
	}
	size := int64(0)
	if d.node.state.Switches.GrowPartitionRefreshes {
		size = d.image.size
	}
	return 0, d.refreshTable(size, func(t *gpt.Table) error {
		for i := range t.Partitions {
			if uint32(t.Partitions[i].Slot)+1 == want.Number {
				t.Partitions[i].Last += uint64(want.BytesToGrow / d.sectorSize())
				if t.Check() == nil {
					return nil
				}
			}
		}
		return win32.ERROR_INVALID_PARAMETER
	})
}

func (d *disk) growMBRPartition(want win32.GrowPartition) error {
	l := d.layout.driveLayout()
	for i := range l.Partitions {
		if l.Partitions[i].Number == want.Number && want.Number != 0 {
			l.Partitions[i].Length += want.BytesToGrow
			blocks, err := d.mbrBlocks(l, nil)
			if err != nil {
				return err
			}
			return d.commit(change{blocks: blocks})
		}
	}
	return win32.ERROR_INVALID_PARAMETER
}
