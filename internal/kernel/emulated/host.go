// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"path/filepath"
)

// host makes every change to the state directory, one primitive per method, so that a test can make the process "die"
// or the host's disk fail before any of them.
type host struct {
	// before is called with the kind of each change, and the path of what is changed, before it is made; if it fails, its
	// error replaces the change. Nil outside tests.
	before func(change, path string) error

	noSync bool // let the host decide when data reaches its disk

	failed   bool       // something failed that may have left a change half done; Node.repair looks after it
	unsynced []*os.File // directories and files that are not durable, because the host failed to make them so
}

// step is called before each change.
func (h *host) step(change, path string) error {
	if h.before == nil {
		return nil
	}
	return h.noted(h.before(change, path))
}

// noted remembers that the host failed, and returns the error.
func (h *host) noted(err error) error {
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrExist) && !isHostNotEmpty(err) &&
		!isHostNameTooLong(err) {
		h.failed = true
	}
	return err
}

// writeAt writes all of b. If before refuses the write, half of the bytes are written, as a real death may leave them.
func (h *host) writeAt(f *os.File, b []byte, offset int64) error {
	if err := h.step("write", f.Name()); err != nil {
		_, _ = f.WriteAt(b[:len(b)/2], offset)
		return err
	}
	_, err := f.WriteAt(b, offset)
	return h.noted(err)
}

func (h *host) sync(f *os.File) error { return h.durable("sync", f, f.Sync) }

// durable makes something durable.
func (h *host) durable(change string, f *os.File, sync func() error) error {
	if err := h.step(change, f.Name()); err != nil || h.noSync {
		return err
	}
	return h.noted(sync())
}

func (h *host) truncate(f *os.File, size int64) error {
	if err := h.step("truncate", f.Name()); err != nil {
		return err
	}
	return h.noted(f.Truncate(size))
}

// resize gives a named file a size, and makes the file durable whether its size was another or not.
func (h *host) resize(name string, size int64) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return h.noted(err)
	}
	info, err := f.Stat()
	if err == nil && info.Size() != size {
		err = h.truncate(f, size)
	}
	if err == nil {
		err = h.sync(f)
	}
	return errors.Join(err, f.Close())
}

// rename moves a file or directory, which is durable when the new name is: a journaling file system keeps a rename
// whole.
func (h *host) rename(from, to string) error {
	return h.inParent(to, func(dir *os.Root, _ string) error {
		return h.changeNames("rename", dir, from, func() error { return os.Rename(from, to) })
	})
}

func (h *host) remove(name string) error { return h.inParent(name, h.removeIn) }

func (h *host) mkdir(name string) error { return h.inParent(name, h.mkdirIn) }

// mkdirAll makes a directory with its parents, unless they are there.
func (h *host) mkdirAll(name string, mode os.FileMode) error {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil
	}
	if parent := filepath.Dir(name); parent != name {
		if err := h.mkdirAll(parent, mode); err != nil {
			return err
		}
	}
	return h.inParent(name, func(dir *os.Root, base string) error {
		return h.changeNames("mkdir", dir, name, func() error { return dir.Mkdir(base, mode) })
	})
}

// writeFile replaces a file atomically: it has its old content or the new one, whatever happens.
func (h *host) writeFile(name string, content []byte) error {
	return h.inParent(name, func(dir *os.Root,
		name string) error {
		return h.writeFileIn(dir, name, name+".new", content)
	})
}

// inParent calls do with a name and its open directory.
func (h *host) inParent(name string, do func(dir *os.Root, name string) error) error {
	dir, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return h.noted(err)
	}
	return errors.Join(do(dir, filepath.Base(name)), dir.Close())
}
