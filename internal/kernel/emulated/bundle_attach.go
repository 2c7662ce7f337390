// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
		r, err := spec.record(nil, Switches{})
		if err != nil {
			return "", err
		}
		err = n.control(func() error {
			_, err := n.host.makeDisk(home, r, true)
			return err
		})
		if err != nil {
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
