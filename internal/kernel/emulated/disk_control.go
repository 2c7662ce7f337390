// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"fmt"
	"os"

	"github.com/Microsoft/go-winio/pkg/guid"
)

// AttachDisk adds a disk, which gets the lowest free number and is visible at once unless DisksInstallLate says
// otherwise. A clone of an online disk comes online with a new identity.
func (n *Node) AttachDisk(spec DiskSpec) (number uint32, err error) {
	b, err := n.findBundle(&spec)
	if err != nil {
		return 0, err
	}
	if b != nil {
		defer b.lock.Close()
	}
	err = n.control(func() error {
		d, err := n.attach(spec, b)
		if err != nil {
			return err
		}
		number = d.number
		if n.state.Switches.DisksInstallLate {
			d.installing = notInstalled
		}
		return d.refresh()
	})
	return number, err
}

func (n *Node) attach(spec DiskSpec, b *lockedBundle) (*disk, error) {
	if b != nil {
		return n.attachBundle(b, &spec)
	}
	if spec.ImagePath != "" {
		info, err := os.Lstat(spec.ImagePath)
		switch {
		case err != nil:
			return nil, err
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("%w: %s is not a regular file", ErrInvalidSpec, spec.ImagePath)
		case spec.SizeBytes == 0:
			spec.SizeBytes = Size(info.Size())
		case int64(spec.SizeBytes) < info.Size():
			return nil, fmt.Errorf("%w: %s has more than %d bytes", ErrInvalidSpec, spec.ImagePath, spec.SizeBytes)
		}
	}
	record, err := spec.record(n.state.Disks, n.state.Switches)
	if err != nil {
		return nil, err
	}
	d, err := n.addDisk(record)
	if err != nil {
		return nil, err
	}
	n.disks[record.Number] = d
	return d, nil
}

// placeImage makes the image of a new disk, or moves one here from elsewhere. It returns the volume of a disk that it
// formats.
func (h *host) placeImage(dir string, record diskState) (guid.GUID, error) {
	path := imagePath(dir, record.Image)
	if record.ImagePath != "" {
		if err := h.rename(record.ImagePath, path); err != nil {
			return guid.GUID{}, err
		}
		return guid.GUID{}, h.resize(path, int64(record.SizeBytes))
	}
	if err := h.createImage(dir, record.Image, int64(record.SizeBytes)); err != nil ||
		!bool(record.Formatted) && !record.System {
		return guid.GUID{}, err
	}
	return h.createNTFSDisk(dir, record)
}

// GrowDisk makes a disk larger, up to a new total size in bytes. Tables and volumes stay as they are.
func (n *Node) GrowDisk(number uint32, sizeBytes int64) error {
	return n.withDisk(number, func(d *disk) error {
		switch {
		case sizeBytes < d.image.size:
			return fmt.Errorf("%w: disk %d has %d bytes, more than %d; a disk does not shrink", ErrInvalidSpec, number,
				d.image.size, sizeBytes)
		case sizeBytes > maxDiskBytes || sizeBytes%d.sectorSize() != 0:
			return fmt.Errorf("%w: a size of %d bytes is not whole sectors up to 16 TiB", ErrInvalidSpec, sizeBytes)
		}
		if err := d.image.grow(sizeBytes); err != nil {
			return err
		}
		d.record.ImageBytes = sizeBytes
		return n.follow(nil, func(s *state) { s.disk(d.record.Image).ImageBytes = sizeBytes })
	})
}

// SetDiskOnline takes a disk offline or brings it online, as an administrator of the node would. It is idempotent.
func (n *Node) SetDiskOnline(number uint32, online bool) error {
	return n.withDisk(number, func(d *disk) error { return d.setAttributes(!online, d.record.ReadOnly) })
}

// SetDiskReadOnly makes a disk read-only or writable, as a cloud or an administrator would. It is idempotent.
func (n *Node) SetDiskReadOnly(number uint32, readOnly bool) error {
	return n.withDisk(number, func(d *disk) error { return d.setAttributes(d.record.Offline, readOnly) })
}

func (n *Node) withDisk(number uint32, change func(*disk) error) error {
	return n.control(func() error {
		d, ok := n.disks[number]
		if !ok {
			return fmt.Errorf("disk %d: %w", number, ErrNoSuchDisk)
		}
		return change(d)
	})
}

// DiskImage returns the host path of a disk's image.
func (n *Node) DiskImage(number uint32) (path string, err error) {
	err = n.withDisk(number, func(d *disk) error {
		path = d.image.path()
		return nil
	})
	return path, err
}
