// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// pullBundle removes a disk from the node and returns the path of its image in the bundle that it is now. The disk is
// detached from the moment when node.json no longer has it: a death before leaves it attached, and after a death later
// the next start puts the bundle together.
func (n *Node) pullBundle(d *disk) (image string, err error) {
	if d.image.half { // only a complete image is kept
		if err := d.image.replay(); err != nil {
			return "", err
		}
	}
	home, info := d.image.home, newBundleInfo(&d.record, d.image.size)
	if home == "" {
		home = makingPath(n.dir, d.record.Image)
		info.Volumes = n.ownVolumes(d)
		if err := n.host.mkdirAll(home, 0o700); err != nil {
			return "", err
		}
	}
	if err := n.host.writeBundleInfo(home, info); err != nil {
		return "", err
	}
	err = n.update(func(s *state) {
		s.Disks = slices.DeleteFunc(s.Disks, func(r diskState) bool { return r.Image == d.record.Image })
	})
	if err != nil {
		return "", err
	}
	delete(n.disks, d.number)
	n.retireGone() // before the files get another place, or another node gets them
	err = d.image.file.Close()
	if d.image.home != "" {
		return filepath.Join(home, bundleImage), err
	}
	home = detachedBundle(n.dir, d.record.Image)
	if err := errors.Join(err, n.host.pack(n.dir, d.record.Image)); err != nil {
		return "", fmt.Errorf("disk %d is detached, and moves to %s when the host recovers: %w", d.number, home, err)
	}
	return filepath.Join(home, bundleImage), nil
}

// makingPath is the directory in which a disk of the node's own becomes a bundle.
func makingPath(dir, name string) string { return filepath.Join(dir, disksDir, name+bundleSuffix) }

func detachedBundle(dir, name string) string {
	return filepath.Join(dir, detachedDir, name+bundleSuffix)
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

// pack makes a bundle of the image and the files of a disk that was detached. After a death, some of its steps may have
// been made already.
func (h *host) pack(dir, name string) error {
	home := makingPath(dir, name)
	info, err := readBundleInfo(home)
	if err != nil {
		return h.noted(err)
	}
	if err := h.mkdirAll(filepath.Join(home, volumesDir), 0o700); err != nil {
		return err
	}
	for _, id := range info.Volumes {
		if err := h.renameIfThere(contentPath(dir, id), contentPath(home, id)); err != nil {
			return err
		}
	}
	if err := h.renameIfThere(imagePath(dir, name), filepath.Join(home, bundleImage)); err != nil {
		return err
	}
	return h.rename(home, detachedBundle(dir, name))
}

func (h *host) renameIfThere(from, to string) error {
	err := h.rename(from, to)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// tidyBundles finishes bundles whose disks are no longer attached, and removes what the beginning of others left.
func (h *host) tidyBundles(dir string, s *state) error {
	detached, err := os.ReadDir(filepath.Join(dir, detachedDir))
	if err != nil {
		return h.noted(err)
	}
	for _, file := range detached {
		if name := file.Name(); strings.HasSuffix(name, bundleSuffix+newSuffix) {
			if err := h.removeAll(filepath.Join(dir, detachedDir, name)); err != nil {
				return err
			}
		}
	}
	files, err := os.ReadDir(filepath.Join(dir, disksDir))
	if err != nil {
		return h.noted(err)
	}
	for _, file := range files {
		name, ok := isBundleName(file.Name())
		if !ok {
			continue
		}
		home := makingPath(dir, name)
		_, err := os.Lstat(filepath.Join(home, bundleFile))
		switch {
		case s.disk(name) != nil || errors.Is(err, os.ErrNotExist): // nothing was moved into it yet
			err = h.removeAll(home)
		case err == nil:
			err = h.pack(dir, name)
		default:
			err = h.noted(err)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
