// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// keptFile is a copy of a file that is open for writing, as it was when its volume was flushed.
type keptFile struct {
	dir  *os.Root
	name string
}

// keepWritten copies the files that are open for writing on a volume that is flushed. If the disk goes offline before
// they are closed, the copies take their places: what was written later is lost. A Windows host replaces no open file.
func (n *Node) keepWritten(v *volume) error {
	c := n.contents[v.disk.image.files(v.id)]
	if c == nil || runtime.GOOS == "windows" {
		return nil
	}
	for _, h := range c.opens {
		if h.self != nil || !h.has(writeAccess) {
			continue
		}
		if err := errors.Join(h.dropKept(), h.keep()); err != nil {
			return err
		}
	}
	return nil
}

func (h *fileHandle) keep() error {
	e, err := h.entry()
	if err != nil {
		return nil //nolint:nilerr // it has been deleted
	}
	host := h.content.node.host
	path := filepath.Join(filepath.Dir(h.content.path), droppedPrefix+newImageName())
	if err := host.mkdir(path); err != nil {
		return err
	}
	dir, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	h.kept = &keptFile{dir, e.name}
	return host.copyFile(h.parent, dir, e.name, e.info)
}

// loseUnflushed undoes, on a disk that goes offline, what was written to open files after the flush.
func (d *disk) loseUnflushed() error {
	var errs []error
	for _, v := range d.volumes {
		c := d.node.contents[d.image.files(v.id)]
		if c == nil {
			continue
		}
		for _, h := range c.opens {
			if h.kept != nil && !h.deleted {
				errs = append(errs, d.node.host.renameBetween(h.kept.dir, h.kept.name, h.parent, h.name))
			}
		}
	}
	return errors.Join(errs...)
}

func (h *fileHandle) dropKept() error {
	if h.kept == nil {
		return nil
	}
	path := h.kept.dir.Name()
	err := h.kept.dir.Close()
	h.kept = nil
	return errors.Join(err, h.content.node.host.removeAll(path))
}
