// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ondisk"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// setDiskAttributes is IOCTL_DISK_SET_DISK_ATTRIBUTES. The setting survives restarts, whether that was asked for or
// not.
func (d *disk) setDiskAttributes(want win32.SetDiskAttributes) error {
	const known = win32.DISK_ATTRIBUTE_OFFLINE | win32.DISK_ATTRIBUTE_READ_ONLY
	if want.Version != d.node.state.Switches.AttributesVersion || want.AttributesMask&^known != 0 {
		return win32.ERROR_INVALID_PARAMETER
	}
	bits := d.attributes()&^want.AttributesMask | want.Attributes&want.AttributesMask
	err := d.setAttributes(bits&win32.DISK_ATTRIBUTE_OFFLINE != 0, bits&win32.DISK_ATTRIBUTE_READ_ONLY != 0)
	if errors.Is(err, ErrSystemDisk) {
		err = win32.ERROR_ACCESS_DENIED // Windows' code for this is not confirmed
	}
	return err
}

// updateDriveSize is IOCTL_DISK_UPDATE_DRIVE_SIZE, which requires a buffer for its answer.
func (d *disk) updateDriveSize(out []byte) (int, error) {
	const sizeofDiskGeometry = 24
	n, err := put(out, d.geometry()[:sizeofDiskGeometry])
	if err == nil {
		d.knownSize = d.image.Size
	}
	return n, err
}

// updateProperties is IOCTL_DISK_UPDATE_PROPERTIES. After IOCTL_DISK_UPDATE_DRIVE_SIZE it moves the backup of the GPT
// to the end of the disk, unless that is left to IOCTL_DISK_GROW_PARTITION.
func (d *disk) updateProperties() error {
	if d.node.state.Switches.GrowPartitionRefreshes || d.writable() != nil {
		return nil //nolint:nilerr // a disk that cannot be written keeps its table
	}
	t, first := d.resized(d.knownSize)
	if first == nil {
		return nil
	}
	return d.write(append(first, t.Encode()...))
}

// resized returns the GPT with its backup at the end of a larger disk, and what is to be written before it: the old
// backup becomes unreadable. Of a disk that is not larger, it is the GPT as it is; nil: there is none.
func (d *disk) resized(sizeBytes int64) (t *ondisk.GPT, first []ondisk.Block) {
	t = d.layout.GPT
	if t == nil || uint64(sizeBytes/d.sectorSize()) <= t.Sectors {
		return t, nil
	}
	moved := *t
	moved.Resize(sizeBytes)
	return &moved, []ondisk.Block{t.BackupBlock()}
}

// growPartition is IOCTL_DISK_GROW_PARTITION.
func (d *disk) growPartition(want win32.GrowPartition) error {
	if err := d.writable(); err != nil {
		return err
	}
	if want.BytesToGrow <= 0 || want.BytesToGrow%d.sectorSize() != 0 || want.BytesToGrow > d.image.Size {
		return win32.ERROR_INVALID_PARAMETER
	}
	size := int64(0)
	if d.node.state.Switches.GrowPartitionRefreshes {
		size = d.image.Size
	}
	return d.growBy(want.Number, want.BytesToGrow, size)
}

// growBy makes a partition longer, and fits the table to a larger disk in the same write.
func (d *disk) growBy(number uint32, bytes, diskBytes int64) error {
	l := d.layout.DriveLayout()
	p := setting.Find(l.Partitions, func(p *win32.Partition) bool { return p.Number == number && p.Length > 0 })
	if p == nil {
		return win32.ERROR_INVALID_PARAMETER
	}
	p.Length += bytes
	return d.replaceLayout(l, diskBytes)
}

// ResizePartition implements kernel.Devices. It only grows, and only NTFS grows with its partition.
func (n *Node) ResizePartition(diskNumber uint32, offset, sizeBytes int64) error {
	return n.callPartition("MSFT_Partition.Resize", diskNumber, offset, func(d *disk, p win32.Partition) error {
		if err := d.writable(); err != nil {
			return err
		}
		if sizeBytes%d.sectorSize() != 0 || sizeBytes <= p.Length {
			return win32.ERROR_INVALID_PARAMETER
		}
		if err := d.growBy(p.Number, sizeBytes-p.Length, d.image.Size); err != nil {
			return err
		}
		v := d.volume(func(v *volume) bool { return v.Number == p.Number })
		if v == nil || v.boot.FileSystem != "NTFS" {
			return nil
		}
		return v.extendTo(v.Length/d.sectorSize() - 1)
	})
}

// OnlinePartition implements kernel.Devices.
func (n *Node) OnlinePartition(diskNumber uint32, offset int64) error {
	return n.callPartition("MSFT_Partition.Online", diskNumber, offset, func(d *disk, p win32.Partition) error {
		v := d.volume(func(v *volume) bool { return v.StartingOffset == p.StartingOffset })
		if v == nil {
			return win32.ERROR_NOT_FOUND
		}
		n.online[v.ID] = true
		return nil
	})
}

func (n *Node) callPartition(function string, diskNumber uint32, offset int64,
	f func(d *disk, p win32.Partition) error) (err error) {
	defer n.call(function, fmt.Sprintf("disk %d, offset %d", diskNumber, offset), &err)()
	d := n.disks[diskNumber]
	if d == nil || d.installing != installed {
		return win32.ERROR_FILE_NOT_FOUND
	}
	for _, p := range d.layout.DriveLayout().Partitions {
		if p.StartingOffset == offset && p.Length > 0 {
			return f(d, p)
		}
	}
	return win32.ERROR_NOT_FOUND
}
