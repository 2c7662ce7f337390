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
	if err := n.finishChanges(); err != nil {
		return err
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

// tidy removes leftovers: temporary files that were not renamed, disks that were never in node.json, and volume
// contents that were being deleted.
func (n *Node) tidy() error {
	for _, name := range []string{creatingFile, creatingFile + newSuffix, stateFile + newSuffix} {
		if err := removeIfThere(filepath.Join(n.dir, name)); err != nil {
			return n.host.noted(err)
		}
	}
	homes, err := os.ReadDir(filepath.Join(n.dir, disksDir))
	if err != nil {
		return n.host.noted(err)
	}
	for _, home := range homes {
		if path := filepath.Join(n.dir, disksDir, home.Name()); n.isLeftover(path) {
			if err := n.host.removeAll(path); err != nil {
				return err
			}
		}
	}
	for _, d := range n.disks {
		if err := n.host.tidyDisk(d.image.home); err != nil {
			return err
		}
	}
	return nil
}

// isLeftover reports whether a disk's directory in the state directory is of no use: its attach ended early.
func (n *Node) isLeftover(home string) bool {
	image, ok := strings.CutSuffix(filepath.Base(home), bundleSuffix)
	if !ok || n.state.disk(image) != nil || n.state.ISCSI.hasLUN(image) {
		return strings.HasSuffix(home, newSuffix)
	}
	_, err := os.Lstat(filepath.Join(home, bundleFile)) // which it has if it was detached
	return errors.Is(err, os.ErrNotExist)
}

// tidyDisk removes leftovers in the directory of a disk.
func (h *host) tidyDisk(home string) error {
	if err := removeIfThere(filepath.Join(home, bundleFile+newSuffix)); err != nil {
		return h.noted(err)
	}
	volumes, err := openVolumes(filepath.Join(home, volumesDir))
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
