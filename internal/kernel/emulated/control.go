// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"os"
	"slices"

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
			d.installing = unnoticed
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
	d, err := n.arrive(record)
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

// DetachDisk pulls a disk, whatever is open or mounted, and returns the path of its image. The image is in a bundle,
// with the disk's identity and the files of its volumes: a disk of the node's own becomes one, and a bundle stays where
// it is. That of an iSCSI disk is a plain file, which the next session takes.
func (n *Node) DetachDisk(number uint32) (image string, err error) {
	err = n.withDisk(number, func(d *disk) error {
		if d.record.System {
			return fmt.Errorf("detach: %w", ErrSystemDisk)
		}
		if !n.state.ISCSI.hasLUN(d.record.Image) { // which is the storage system's, and comes back with the next session
			var err error
			image, err = n.pullBundle(d)
			return err
		}
		images, err := n.pull([]*disk{d}, func(*state) {})
		switch {
		case images == nil:
			return err
		case err != nil:
			return fmt.Errorf("disk %d is detached, and its image moves to %s when the host recovers: %w",
				number, images[0], err)
		}
		image = images[0]
		return nil
	})
	return image, err
}

// pull removes disks from the node and, in one update with another change, from node.json. It returns the new paths of
// their images, also if the disks are gone and an image could not be moved: tidy moves it.
func (n *Node) pull(disks []*disk, change func(*state)) (images []string, err error) {
	for _, d := range disks {
		if d.image.half { // only a complete image is kept
			if err := d.image.replay(); err != nil {
				return nil, err
			}
		}
	}
	err = n.update(func(s *state) {
		s.Disks = slices.DeleteFunc(s.Disks, func(r diskState) bool {
			return slices.ContainsFunc(disks, func(d *disk) bool { return d.record.Image == r.Image })
		})
		change(s)
	})
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, d := range disks {
		delete(n.disks, d.number)
		image := detachedPath(n.dir, d.record.Image)
		images = append(images, image)
		errs = append(errs, d.image.file.Close(), n.host.rename(d.image.path(), image))
	}
	return images, errors.Join(errs...)
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

// Reboot restarts the node: every open handle becomes invalid. Disks, their numbers and states, mount points and links
// stay.
func (n *Node) Reboot() error {
	return n.control(func() error {
		n.boot++
		n.hasty = false
		clear(n.privileges)
		n.retire(errRebooted, func(*content) bool { return true })
		if len(n.state.SMB.Mappings) > 0 {
			if err := n.update(func(s *state) { s.SMB.reboot(s.Switches.MappingsOutliveReboot) }); err != nil {
				return err
			}
		}
		for _, d := range n.disks {
			clear(d.open)
			clear(d.lengths)
			clear(d.arrivals)
			d.knownSize, d.growRefusals, d.installing = d.image.size, 0, installed
			if err := d.refresh(); err != nil {
				return err
			}
		}
		clear(n.online)
		if err := n.bootServices(); err != nil {
			return err
		}
		if err := n.rebootISCSI(); err != nil {
			return err
		}
		return n.repairMounts()
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
