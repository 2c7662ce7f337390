// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

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
		id := p.ID
		if l.style == win32.PARTITION_STYLE_MBR {
			id = mbrVolume(l.mbr.signature, p.StartingOffset)
		}
		ids = append(ids, id)
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
