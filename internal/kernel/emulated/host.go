// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"path/filepath"
)

// host makes every change to the state directory, one primitive per method, so that a test can make the process "die"
// before any of them.
type host struct {
	// before is called with the kind of each change, and the path of what is changed, before it is made; if it fails, its
	// error replaces the change. Nil outside tests.
	before func(change, path string) error

	noSync bool // let the host decide when data reaches its disk
}

func (h *host) step(change, path string) error {
	if h.before == nil {
		return nil
	}
	return h.before(change, path)
}

// writeAt writes all of b. If before refuses the write, half of the bytes are written, as a real death may leave them.
func (h *host) writeAt(f *os.File, b []byte, offset int64) error {
	if err := h.step("write", f.Name()); err != nil {
		_, _ = f.WriteAt(b[:len(b)/2], offset)
		return err
	}
	_, err := f.WriteAt(b, offset)
	return err
}

func (h *host) sync(f *os.File) error {
	if err := h.step("sync", f.Name()); err != nil {
		return err
	}
	if h.noSync {
		return nil
	}
	return f.Sync()
}

func (h *host) truncate(f *os.File, size int64) error {
	if err := h.step("truncate", f.Name()); err != nil {
		return err
	}
	return f.Truncate(size)
}

// resize changes the size of a named file.
func (h *host) resize(name string, size int64) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(h.truncate(f, size), f.Close())
}

func (h *host) rename(from, to string) error {
	if err := h.step("rename", from); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return errors.Join(h.syncParent(to), h.syncParent(from))
}

func (h *host) remove(name string) error { return inParent(name, h.removeIn) }

func (h *host) mkdir(name string) error { return inParent(name, h.mkdirIn) }

// writeFile replaces a file atomically: it has its old content or the new one, whatever happens.
func (h *host) writeFile(name string, content []byte) error {
	return inParent(name, func(dir *os.Root, name string) error { return h.writeFileIn(dir, name, name+".new", content) })
}

func (h *host) syncParent(name string) error {
	return inParent(name, func(dir *os.Root, _ string) error { return h.syncRoot(dir) })
}

// inParent calls do with a name and its open directory.
func inParent(name string, do func(dir *os.Root, name string) error) error {
	dir, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(do(dir, filepath.Base(name)), dir.Close())
}
