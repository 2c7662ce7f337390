// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// settle makes whole, before a call, what a failure of the host left half done: the disk was full, read-only or broken,
// or the process had too many files open. It does at once what a start would do. A call can be answered only when
// nothing is half done that its answer could depend on; the rest is tried again before each call.
func (n *Node) settle() error {
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

// tidy removes leftovers: temporary files that were not renamed, and volume contents that were being deleted. An image
// that belongs to no disk goes back to where it came from, or to the detached ones.
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
	for _, a := range n.state.Arriving {
		if err := n.turnBack(a); err != nil {
			return err
		}
	}
	if err := n.host.tidyBundles(n.dir, &n.state); err != nil {
		return err
	}
	files, err := os.ReadDir(filepath.Join(n.dir, disksDir))
	if err != nil {
		return n.host.noted(err)
	}
	for _, file := range files {
		if err := n.tidyDisks(file.Name()); err != nil {
			return err
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

// tidyDisks looks after one file in the directory of the images.
func (n *Node) tidyDisks(file string) error {
	path := filepath.Join(n.dir, disksDir, file)
	if image, isImage := strings.CutSuffix(file, imageSuffix); isImage && n.state.disk(image) == nil {
		return n.host.setAside(n.dir, image)
	}
	journalOf, isJournal := strings.CutSuffix(file, journalName)
	_, err := os.Lstat(imagePath(n.dir, journalOf))
	if isJournal && errors.Is(err, os.ErrNotExist) || strings.HasSuffix(file, newSuffix) {
		return n.host.noted(removeIfThere(path))
	}
	return nil
}

// setAside moves the image of no disk to the detached ones. Only a complete image is kept.
func (h *host) setAside(dir, name string) error {
	if err := h.complete(dir, name); err != nil {
		return err
	}
	return h.rename(imagePath(dir, name), detachedPath(dir, name))
}

// complete finishes a change of an image that nothing has open.
func (h *host) complete(dir, name string) error {
	im, err := h.openImage(dir, name)
	if err != nil {
		return err
	}
	return im.file.Close()
}

func detachedPath(dir, name string) string { return filepath.Join(dir, detachedDir, name+imageSuffix) }
