// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	return n.addOwn(record)
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
		path = d.image.path
		return nil
	})
	return path, err
}

// addOwn attaches a disk of the node's own. If anything ends that, the image goes back to where it came from, or
// nowhere. A clone may have got its new identity.
func (n *Node) addOwn(record diskState) (*disk, error) {
	back := fileMove{From: imagePath("", record.Image)}
	if record.ImagePath != "" {
		info, err := os.Lstat(record.ImagePath)
		if err != nil {
			return nil, err
		}
		if back.To, err = filepath.Abs(record.ImagePath); err != nil {
			return nil, err
		}
		back.Size = info.Size()
	}
	place := func(r diskState) error {
		_, err := n.host.placeImage(n.dir, r)
		return err
	}
	if err := n.addDisks([]diskState{record}, []fileMove{back}, place, func(*state) {}); err != nil {
		return nil, err
	}
	return n.disks[record.Number], nil
}

// addDisks opens disks, whose images it places first, and adds them to node.json, in one update with another change.
// Before that, node.json has the moves by which the files go back if anything ends it.
func (n *Node) addDisks(records []diskState, back []fileMove, place func(diskState) error, change func(*state)) error {
	if len(back) > 0 {
		if err := n.update(func(s *state) { s.Moves = append(s.Moves, back...) }); err != nil {
			return err
		}
	}
	var disks []*disk
	err := func() error {
		for _, r := range records {
			if err := place(r); err != nil {
				return err
			}
			d, err := n.newDisk(r)
			if err != nil {
				return err
			}
			disks = append(disks, d)
			if !r.Offline {
				if err := d.leaveIdentities(); err != nil {
					return err
				}
			}
		}
		return n.update(func(s *state) {
			for _, d := range disks {
				s.Disks = append(s.Disks, d.record)
			}
			s.dropMoves(back)
			change(s)
		})
	}()
	if err == nil {
		for _, d := range disks {
			n.disks[d.number] = d
		}
		return nil
	}
	for _, d := range disks {
		_ = d.image.file.Close() // the disks were never visible
	}
	return errors.Join(err, n.undoMoves(back, err))
}

// undoMoves makes the moves that undo a change, after the error that ended it.
func (n *Node) undoMoves(moves []fileMove, cause error) error {
	if len(moves) == 0 {
		return nil
	}
	if errors.Is(cause, errNotDurable) { // node.json may have the change
		if err := n.host.saveState(n.dir, n.state); err != nil {
			return moves[0].later(n.dir, err)
		}
	}
	return n.finishMoves()
}

// DetachDisk pulls a disk, whatever is open or mounted, and returns the path of its image. The image is in a bundle,
// with the disk's identity and the files of its volumes: a disk of the node's own becomes one, and a bundle stays where
// it is. That of an iSCSI disk is a plain file, which the next session takes.
func (n *Node) DetachDisk(number uint32) (image string, err error) {
	err = n.withDisk(number, func(d *disk) error {
		if d.record.System {
			return fmt.Errorf("detach: %w", ErrSystemDisk)
		}
		moves := []fileMove{moveToDetached(d.record.Image)}
		image = detachedPath(n.dir, d.record.Image)
		if !n.state.ISCSI.hasLUN(d.record.Image) { // whose image is the storage system's
			if image, moves, err = n.bundleOf(d); err != nil {
				return err
			}
		}
		err := n.pull([]*disk{d}, moves, func(*state) {})
		if err != nil && !d.attached() {
			err = fmt.Errorf("disk %d is detached: %w", number, err)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return image, nil
}

// pull removes disks from the node and, in one update with another change, from node.json. Then their files move.
func (n *Node) pull(disks []*disk, moves []fileMove, change func(*state)) error {
	err := n.update(func(s *state) {
		s.Disks = slices.DeleteFunc(s.Disks, func(r diskState) bool {
			return slices.ContainsFunc(disks, func(d *disk) bool { return d.record.Image == r.Image })
		})
		s.Moves = append(s.Moves, moves...)
		change(s)
	})
	if err != nil {
		return err
	}
	for _, d := range disks {
		delete(n.disks, d.number)
	}
	n.retireGone() // before the files get another place, or another node gets them
	var errs []error
	for _, d := range disks {
		errs = append(errs, d.image.file.Close())
	}
	return errors.Join(append(errs, n.finishMoves())...)
}

// moveToDetached is the move of an image that is kept without a disk.
func moveToDetached(image string) fileMove {
	return fileMove{From: imagePath("", image), To: detachedPath("", image)}
}

// bundleOf returns the path that the image of a disk has in its bundle, and the moves by which a disk of the node's own
// becomes one.
func (n *Node) bundleOf(d *disk) (image string, moves []fileMove, err error) {
	home := d.image.home
	if home == "" {
		bundle := filepath.Join(detachedDir, d.record.Image+bundleSuffix)
		home = filepath.Join(n.dir, bundle)
		if err := n.host.mkdirAll(filepath.Join(home, volumesDir), 0o700); err != nil {
			return "", nil, err
		}
		moves = []fileMove{{From: imagePath("", d.record.Image), To: filepath.Join(bundle, bundleImage)}}
		for _, id := range n.ownVolumes(d) {
			moves = append(moves, fileMove{From: contentPath("", id), To: contentPath(bundle, id)})
		}
	}
	return filepath.Join(home, bundleImage), moves, n.host.writeBundleInfo(home, newBundleInfo(&d.record, d.image.size))
}

// ownVolumes returns the volumes of a disk whose files are the disk's. While two of the node's own disks are clones of
// one another, the files are those of the one that is online or, if neither is, of the one that came first.
func (n *Node) ownVolumes(d *disk) (own []guid.GUID) {
	for _, id := range d.layout.volumeIDs() {
		other := slices.ContainsFunc(n.diskList(), func(o *disk) bool {
			return o != d && o.image.home == "" && slices.Contains(o.layout.volumeIDs(), id) &&
				d.record.Offline && (!o.record.Offline || o.number < d.number)
		})
		if !other {
			own = append(own, id)
		}
	}
	return own
}

// volumeIDs returns the ids of the volumes, which need not be online.
func (l layout) volumeIDs() (ids []guid.GUID) {
	for _, p := range l.volumePartitions() {
		ids = append(ids, p.ID)
	}
	return ids
}

// hasLUN reports whether an image is that of a logical unit.
func (s iscsiState) hasLUN(image string) bool {
	for _, p := range s.Storage {
		for _, t := range p.Targets {
			if slices.ContainsFunc(t.LUNs, func(l ISCSILUNSpec) bool { return l.Image == image }) {
				return true
			}
		}
	}
	return false
}
