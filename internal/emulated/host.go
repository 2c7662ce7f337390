// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// host makes every change to the state directory, one primitive per method, so that a test can make the process "die"
// or the host's disk fail before any of them.
type host struct {
	// before is called with the kind of each change, and the path of what is changed, before it is made; if it fails, its
	// error replaces the change. Nil outside tests.
	before func(change, path string) error

	failed bool // something failed that may have left a change half done; Node.repair looks after it
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

func (h *host) truncate(f *os.File, size int64) error {
	if err := h.step("truncate", f.Name()); err != nil {
		return err
	}
	return h.noted(f.Truncate(size))
}

// rename moves a file or directory.
func (h *host) rename(from, to string) error {
	return h.change("rename", from, func() error { return os.Rename(from, to) })
}

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
		return h.change("mkdir", name, func() error { return dir.Mkdir(base, mode) })
	})
}

// writeFile replaces a file atomically: it has its old content or the new one, whatever happens.
func (h *host) writeFile(name string, content []byte) error {
	return h.inParent(name, func(dir *os.Root, name string) error {
		return h.writeFileIn(dir, name, name+".new", content)
	})
}

func (h *host) writeJSON(name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return h.writeFile(name, append(text, '\n'))
}

// inParent calls do with a name and its open directory.
func (h *host) inParent(name string, do func(dir *os.Root, name string) error) error {
	dir, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return h.noted(err)
	}
	return errors.Join(do(dir, filepath.Base(name)), dir.Close())
}

// change makes one change.
func (h *host) change(change, path string, do func() error) error {
	if err := h.step(change, path); err != nil {
		return err
	}
	return h.noted(do())
}

// The changes go through an open directory. Inside a volume it is never opened by a path from the top.

func (h *host) mkdirIn(dir *os.Root, name string) error {
	return h.change("mkdir", filepath.Join(dir.Name(), name), func() error { return dir.Mkdir(name, 0o777) })
}

func (h *host) createIn(dir *os.Root, name string) error {
	return h.change("create", filepath.Join(dir.Name(), name), func() error {
		f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return err
		}
		return f.Close()
	})
}

func (h *host) removeIn(dir *os.Root, name string) error {
	return h.change("remove", filepath.Join(dir.Name(), name), func() error { return dir.Remove(name) })
}

func (h *host) renameIn(dir *os.Root, from, to string) error {
	return h.change("rename", filepath.Join(dir.Name(), from), func() error { return dir.Rename(from, to) })
}

// renameBetween moves a name from one directory to another, where nothing has the new name.
func (h *host) renameBetween(dir *os.Root, from string, other *os.Root, to string) error {
	return h.change("rename", filepath.Join(dir.Name(), from),
		func() error { return renameBetween(dir, from, other, to) })
}

// renameBetween is the rename alone.
func renameBetween(dir *os.Root, from string, other *os.Root, to string) error {
	source, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := other.Open(".")
	if err != nil {
		return err
	}
	defer target.Close()
	return renameAt(source, from, target, to)
}

// writeFileIn replaces a file of the directory atomically, by way of a temporary name.
func (h *host) writeFileIn(dir *os.Root, name, temporary string, content []byte) error {
	return h.replaceIn(dir, name, temporary, func(f *os.File) error { return h.writeAt(f, content, 0) })
}

// replaceIn replaces a file of the directory by one that fill fills.
func (h *host) replaceIn(dir *os.Root, name, temporary string, fill func(f *os.File) error) error {
	if err := dir.Remove(temporary); err != nil && !errors.Is(err, os.ErrNotExist) {
		return h.noted(err)
	}
	if err := h.step("create", filepath.Join(dir.Name(), temporary)); err != nil {
		return err
	}
	f, err := dir.OpenFile(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return h.noted(err)
	}
	if err = errors.Join(fill(f), f.Close()); err != nil {
		return err
	}
	return h.renameIn(dir, temporary, name)
}

// openIn opens a file or directory in a directory. A pipe or device that a workload puts in its place is refused at
// once: the node would wait for the other end.
func openIn(dir *os.Root, name string) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|withoutWaiting, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = errNotOurs
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openFileIn opens the regular file of the directory that info, from Lstat, describes, and not what a link at its name
// leads to.
func openFileIn(dir *os.Root, name string, info os.FileInfo) (*os.File, error) {
	if !info.Mode().IsRegular() {
		return nil, errNotOurs
	}
	f, err := openIn(dir, name)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil && !os.SameFile(info, opened) {
		err = errNotOurs
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readFileIn reads a small file by openFileIn.
func readFileIn(dir *os.Root, name string, info os.FileInfo, limit int64) ([]byte, error) {
	if info.Size() > limit {
		return nil, errNotOurs
	}
	f, err := openFileIn(dir, name, info)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// errNotOurs means that a reserved name is not a file that this package made.
var errNotOurs = errors.New("not a file that the node made")
