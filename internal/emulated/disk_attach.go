// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// AttachDisk adds a disk, which gets the lowest free number and is visible at once unless DisksInstallLate says
// otherwise. A clone of an online disk arrives offline and read-only, or with a new identity: see ClonesNeedWritable.
func (n *Node) AttachDisk(spec bundle.Spec) (number uint32, err error) {
	defer n.control()()
	record, err := n.placeDisk(spec)
	if err != nil {
		return 0, err
	}
	if err := n.addDisks([]bundle.Record{record}, func(*state) {}); err != nil {
		if record.Bundle == "" { // it was made for this
			err = errors.Join(err, n.host.RemoveAll(record.Home(n.dir)))
		}
		return 0, err
	}
	d := n.disks[record.Number]
	if n.state.Switches.DisksInstallLate {
		d.installing = notInstalled
	}
	return record.Number, d.refresh()
}

// placeDisk returns the record of a disk that is about to be attached: a new one that it makes, or a bundle, where it
// lies.
func (n *Node) placeDisk(spec bundle.Spec) (record bundle.Record, err error) {
	home, isBundle := bundle.At(cmp.Or(spec.BundlePath, spec.ImagePath))
	switch {
	case isBundle:
		return n.placeBundle(spec, home)
	case spec.BundlePath != "":
		if err = n.makeBundle(spec); err == nil {
			record, err = n.placeBundle(spec, spec.BundlePath)
		}
		return record, err
	case spec.ImagePath != "":
		if err := spec.CompleteFromImage(); err != nil {
			return record, err
		}
	}
	if record, err = spec.Record(n.state.Disks, n.state.Switches.OfflineDisksReadOnly); err != nil {
		return record, err
	}
	_, err = bundle.Make(n.host, record.Home(n.dir), record, false)
	return record, err
}

// placeBundle is placeDisk for a bundle.
func (n *Node) placeBundle(spec bundle.Spec, path string) (record bundle.Record, err error) {
	home, err := filepath.Abs(path)
	if err != nil {
		return record, err
	}
	if r := n.state.bundle(n.dir, home); r != nil {
		return record, fmt.Errorf("%w: %s is attached to this node already, as disk %d", bundle.ErrInvalid, home, r.Number)
	}
	info, err := bundle.ReadInfo(home)
	if err == nil {
		err = info.Complete(&spec, home)
	}
	if err == nil {
		record, err = spec.Record(n.state.Disks, n.state.Switches.OfflineDisksReadOnly)
	}
	if err == nil {
		err = bundle.Claim(n.host, home, n.dir, hasBundle)
	}
	record.Bundle = home
	if name, ok := below(n.dir, home); ok { // relative, so that the state directory can be moved
		record.Bundle = name
	}
	return record, err
}

// makeBundle makes a blank bundle, if that is asked for.
func (n *Node) makeBundle(spec bundle.Spec) error {
	path := spec.BundlePath
	_, err := os.Lstat(path)
	switch {
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w: %s is not a bundle: it has no %s", bundle.ErrInvalid, path, bundle.InfoFile)
	case spec.SizeBytes == 0:
		return &os.PathError{Op: "attach", Path: path, Err: os.ErrNotExist}
	case !filepath.IsAbs(path):
		return fmt.Errorf("%w: %s is not an absolute path", bundle.ErrInvalid, path)
	}
	r, err := spec.Record(nil, false)
	if err == nil {
		_, err = bundle.Make(n.host, path, r, true)
	}
	return err
}

// GrowDisk makes a disk larger, up to a new total size in bytes. Tables and volumes stay as they are.
func (n *Node) GrowDisk(number uint32, sizeBytes int64) error {
	return n.withDisk(number, func(d *disk) error {
		switch {
		case sizeBytes < d.image.Size:
			return fmt.Errorf("%w: disk %d has %d bytes, more than %d; a disk does not shrink", bundle.ErrInvalid, number,
				d.image.Size, sizeBytes)
		case sizeBytes > setting.MaxSize || sizeBytes%d.sectorSize() != 0:
			return fmt.Errorf("%w: a size of %d bytes is not whole sectors up to 16 TiB", bundle.ErrInvalid, sizeBytes)
		}
		if err := d.image.Grow(sizeBytes); err != nil {
			return err
		}
		d.record.ImageBytes = sizeBytes
		return n.follow(func(s *state) { s.disk(d.record.Image).ImageBytes = sizeBytes })
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
	defer n.control()()
	d, ok := n.disks[number]
	if !ok {
		return errdefs.NotFound.Errorf("NOT_FOUND", "disk %d: no such disk", number)
	}
	return change(d)
}

// DiskImage returns the host path of a disk's image.
func (n *Node) DiskImage(number uint32) (path string, err error) {
	err = n.withDisk(number, func(d *disk) error {
		path = d.image.Path
		return nil
	})
	return path, err
}

// addDisks opens disks and adds them to node.json, in one update with another change.
func (n *Node) addDisks(records []bundle.Record, also func(*state)) (err error) {
	var disks []*disk
	defer func() {
		for _, d := range disks {
			if err == nil {
				n.disks[d.record.Number] = d
			} else {
				_ = d.image.File.Close() // the disks were never visible
			}
		}
	}()
	for _, r := range records {
		d, err := n.newDisk(r)
		if err != nil {
			return err
		}
		disks = append(disks, d)
		switch {
		case r.Offline || !d.isTwin():
		case n.state.Switches.ClonesNeedWritable:
			d.record.Offline, d.record.ReadOnly = true, true
		default:
			if err := d.leaveIdentities(); err != nil {
				return err
			}
		}
	}
	return n.update(func(s *state) {
		for _, d := range disks {
			s.Disks = append(s.Disks, d.record)
		}
		also(s)
	})
}

// DetachDisk pulls a disk, whatever is open or mounted, and returns the path of its image. The image is in a bundle,
// with the disk's identity and the files of its volumes. Only that of an iSCSI disk is the storage system's. With the
// switch DetachNeedsOffline the cloud refuses a disk that is online.
func (n *Node) DetachDisk(number uint32) (image string, err error) {
	err = n.withDisk(number, func(d *disk) error {
		image = d.image.Path
		if d.record.System {
			return fmt.Errorf("detach: %w", ErrSystemDisk)
		}
		if n.state.Switches.DetachNeedsOffline && !d.record.Offline {
			return fmt.Errorf("detach: disk %d: the cloud does not detach it while it is online; take it offline first",
				number)
		}
		if !n.state.ISCSI.HasLUN(d.record.Image) {
			if err := bundle.WriteInfo(n.host, d.image.Home, &d.record, d.image.Size); err != nil {
				return err
			}
		}
		return n.pull([]*disk{d}, func(*state) {})
	})
	return image, err
}

// pull removes disks from the node and, in one update with another change, from node.json.
func (n *Node) pull(disks []*disk, change func(*state)) error {
	err := n.update(func(s *state) {
		s.Disks = slices.DeleteFunc(s.Disks, func(r bundle.Record) bool {
			return slices.ContainsFunc(disks, func(d *disk) bool { return d.record.Image == r.Image })
		})
		change(s)
	})
	if err != nil {
		return err
	}
	for _, d := range disks {
		delete(n.disks, d.record.Number)
	}
	n.retireGone() // before another node gets the files
	for _, d := range disks {
		_ = d.image.File.Close() // its changes are made
	}
	return nil
}

// DetachedDisks returns the disks that were pulled out and lie in the state directory, as they were, with the paths of
// their bundles. Bundles elsewhere on the host are not known. One that cannot be read is left out, with an error.
func (n *Node) DetachedDisks() (disks []bundle.Spec, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	bundles, err := filepath.Glob(filepath.Join(n.dir, bundle.DisksDir, "*"+bundle.Suffix))
	for _, home := range bundles {
		if slices.ContainsFunc(n.state.Disks, func(r bundle.Record) bool { return r.Home(n.dir) == home }) {
			continue
		}
		info, readErr := bundle.ReadInfo(home)
		if errors.Is(readErr, os.ErrNotExist) { // a logical unit's
			continue
		} else if readErr != nil {
			err = errors.Join(err, readErr)
			continue
		}
		info.BundlePath, info.SizeBytes = home, info.Size
		disks = append(disks, info.Spec)
	}
	return disks, err
}

// bundle returns the record of the disk that is a bundle, nil if the node has not got it attached.
func (s *state) bundle(stateDir, home string) *bundle.Record {
	return setting.Find(s.Disks, func(r *bundle.Record) bool { return hostfiles.SameDir(r.Home(stateDir), home) })
}

// hasBundle reports whether the node of a state directory, if there is one, has a bundle attached.
func hasBundle(stateDir, home string) (bool, error) {
	s, err := loadState(stateDir)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && s.bundle(stateDir, home) != nil, err
}

// startDisk opens a disk of node.json. A bundle is claimed anew, as the state directory may have been moved.
func (n *Node) startDisk(record bundle.Record) (*disk, error) {
	if record.Bundle != "" {
		home := record.Home(n.dir)
		err := bundle.Claim(n.host, home, n.dir, hasBundle)
		_, known := errors.AsType[*hostfiles.DamagedError](err)
		switch {
		case known || errors.Is(err, bundle.ErrAttachedElsewhere):
			return nil, err
		case err != nil:
			return nil, hostfiles.Damaged(home, err.Error(), "restore the bundle, or start with an empty state directory")
		}
	}
	return n.newDisk(record)
}
