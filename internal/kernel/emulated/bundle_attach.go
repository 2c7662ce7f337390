// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kubernetes-csi/csi-proxy/internal/gpt"
)

// findBundle locks the bundle that a disk is to be and reads it; nil if the disk is to be none. The caller holds no
// lock of the node.
func (n *Node) findBundle(spec *DiskSpec) (*lockedBundle, error) {
	home, ok := bundleAt(spec.ImagePath)
	if !ok && spec.BundlePath == "" {
		return nil, nil
	}
	home, err := n.bundleHome(cmp.Or(spec.BundlePath, home), spec)
	if err != nil {
		return nil, err
	}
	b, err := lockBundle(home, n.dir)
	if err != nil {
		return nil, err
	}
	if b.info, err = readBundleInfo(home); err != nil {
		return nil, errors.Join(err, b.lock.Close())
	}
	return b, nil
}

// attachBundle attaches a bundle, where it lies. A node has it from the moment when its node.json says so.
func (n *Node) attachBundle(b *lockedBundle, spec *DiskSpec) (*disk, error) {
	home, info := b.home, b.info
	if r := n.state.bundle(n.dir, home); r != nil {
		return nil, fmt.Errorf("%w: %s is attached to this node already, as disk %d", ErrInvalidSpec, home, r.Number)
	}
	if err := info.complete(spec, home); err != nil {
		return nil, err
	}
	record, err := spec.record(n.state.Disks, n.state.Switches)
	if err != nil {
		return nil, err
	}
	record.Bundle = n.bundleName(home)
	if err := n.claim(b); err != nil {
		return nil, err
	}
	where := func(diskState) error { return nil } // it lies
	if err := n.addDisks([]diskState{record}, nil, where, func(*state) {}); err != nil {
		return nil, err
	}
	return n.disks[record.Number], nil
}

// bundleHome returns the directory of a bundle, and makes the bundle if the caller asks for that.
func (n *Node) bundleHome(path string, spec *DiskSpec) (string, error) {
	home, ok := bundleAt(path)
	if !ok {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("%w: %s is not a bundle: it has no %s", ErrInvalidSpec, path, bundleFile)
		}
		if spec.SizeBytes == 0 {
			return "", &os.PathError{Op: "attach", Path: path, Err: os.ErrNotExist}
		}
		if home = path; !filepath.IsAbs(home) {
			return "", fmt.Errorf("%w: %s is not an absolute path", ErrInvalidSpec, path)
		}
		if err := n.control(func() error { return n.host.createBundle(home, spec) }); err != nil {
			return "", err
		}
	}
	return filepath.Abs(home)
}

// bundleName returns how node.json names a bundle: inside the state directory relative to it, so that the directory can
// be moved.
func (n *Node) bundleName(home string) string {
	if rest, ok := below(n.dir, home); ok {
		return rest
	}
	return home
}

// startDisk opens a disk of node.json. A bundle is claimed anew, as the state directory may have been moved.
func (n *Node) startDisk(record diskState) (*disk, error) {
	if record.Bundle == "" {
		return n.newDisk(record)
	}
	home := record.home(n.dir)
	b, err := lockBundle(home, n.dir)
	if damaged := new(*DamagedStateError); err != nil && !errors.As(err, damaged) {
		err = &DamagedStateError{home, err.Error(), "restore the bundle, or start with an empty state directory"}
	}
	if err != nil {
		return nil, err
	}
	defer b.lock.Close()
	if err := n.claim(b); err != nil {
		return nil, err
	}
	return n.newDisk(record)
}

// alone keeps other nodes from changing the image of a bundle, until unlock is called. A change that one of them did
// not finish is finished before the next.
func (im *image) alone() (unlock func(), err error) {
	if im.home == "" {
		return func() {}, nil
	}
	// Not the bundle's lock, which is held while a bundle is attached and perhaps gets a new identity.
	lock, err := awaitLock(filepath.Join(im.home, imageLock))
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(im.journal); err == nil {
		im.half = true
	}
	return func() { _ = lock.Close() }, nil
}

// renaming returns a change of the tables that gives volumes other names. The files go with those of a bundle; those of
// a disk of the node's own, if it has any, are the files of the disk whose clone it is.
func (im *image) renaming(blocks []gpt.Block, renamed []renamedVolume) change {
	if im.home == "" {
		renamed = nil
	}
	return change{Blocks: blocks, Renamed: renamed}
}

// rename gives the files of a volume of a clone their new place. After a death it may have happened already.
func (im *image) rename(r renamedVolume) error {
	volumes, err := openVolumes(filepath.Dir(im.files(r.From)))
	if err != nil {
		return im.host.noted(err)
	}
	defer volumes.Close()
	err = im.host.renameIn(volumes, r.From.String(), r.To.String())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// measure reads the size of the image again.
func (im *image) measure() error {
	info, err := im.file.Stat()
	if err == nil {
		im.size = info.Size()
	}
	return err
}
