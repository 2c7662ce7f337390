// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// repair makes whole, before a call, what a failure of the host left half done: the disk was full, read-only or broken,
// or the process had too many files open. It does at once what a start would do. A call can be answered only when
// nothing is half done that its answer could depend on; the rest is tried again before each call.
func (n *Node) repair() error {
	if n.restoring {
		return n.becomeRestored()
	}
	if !n.host.failed || n.disks == nil {
		return nil
	}
	if err := n.host.syncAgain(); err != nil {
		return err
	}
	for _, d := range n.disks {
		if d.image.half {
			if err := d.refresh(); err != nil {
				return err
			}
		}
	}
	n.retireGone()
	n.host.failed = false
	err := n.host.saveState(n.dir, n.state)
	if err == nil {
		err = n.tidy()
	}
	if errors.Is(err, errNotDurable) {
		return err
	}
	return nil
}

// tidy makes the moves that are due, and removes leftovers: temporary files that were not renamed, bundles that were
// only begun, and volume contents that were being deleted.
func (n *Node) tidy() error {
	for _, name := range []string{creatingFile, creatingFile + newSuffix, stateFile + newSuffix} {
		if err := removeIfThere(filepath.Join(n.dir, name)); err != nil {
			return n.host.noted(err)
		}
	}
	for _, name := range []string{disksDir, detachedDir, volumesDir} {
		if err := n.host.mkdirAll(filepath.Join(n.dir, name), 0o755); err != nil {
			return err
		}
	}
	if err := n.finishMoves(); err != nil {
		return err
	}
	for _, dir := range []string{disksDir, detachedDir} {
		files, err := os.ReadDir(filepath.Join(n.dir, dir))
		if err != nil {
			return n.host.noted(err)
		}
		for _, file := range files {
			if n.isLeftover(dir, file.Name()) {
				if err := n.host.removeAll(filepath.Join(n.dir, dir, file.Name())); err != nil {
					return err
				}
			}
		}
	}
	return n.host.removeDropped(n.dir)
}

// removeDropped removes the volume contents that were being deleted, of a state directory or a bundle.
func (h *host) removeDropped(dir string) error {
	volumes, err := openVolumes(filepath.Join(dir, volumesDir))
	if err != nil {
		return h.noted(err)
	}
	defer volumes.Close()
	return h.noted(everyName(volumes, func(name string) error {
		if strings.HasPrefix(name, droppedPrefix) {
			return h.removeAllIn(volumes, name)
		}
		return nil
	}))
}

// isLeftover reports whether a file among the disks or the detached ones is of no use: its change ended early.
func (n *Node) isLeftover(dir, name string) bool {
	if dir == disksDir {
		image, isJournal := strings.CutSuffix(name, journalName)
		_, err := os.Lstat(imagePath(n.dir, image))
		return strings.HasSuffix(name, newSuffix) || isJournal && errors.Is(err, os.ErrNotExist)
	}
	image, isBundle := strings.CutSuffix(name, bundleSuffix)
	own := n.state.disk(image)
	return strings.HasSuffix(name, bundleSuffix+newSuffix) || isBundle && own != nil && own.Bundle == ""
}

func detachedPath(dir, name string) string { return filepath.Join(dir, detachedDir, name+imageSuffix) }
