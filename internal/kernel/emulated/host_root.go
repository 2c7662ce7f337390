// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// The changes go through an open directory. Inside a volume it is never opened by a path from the top.

func (h *host) mkdirIn(dir *os.Root, name string) error {
	return h.changeNames("mkdir", dir, filepath.Join(dir.Name(), name), func() error { return dir.Mkdir(name, 0o777) })
}

func (h *host) createIn(dir *os.Root, name string) error {
	return h.changeNames("create", dir, filepath.Join(dir.Name(), name), func() error {
		f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return err
		}
		return f.Close()
	})
}

func (h *host) removeIn(dir *os.Root, name string) error {
	return h.changeNames("remove", dir, filepath.Join(dir.Name(), name), func() error { return dir.Remove(name) })
}

func (h *host) renameIn(dir *os.Root, from, to string) error {
	return h.changeNames("rename", dir, filepath.Join(dir.Name(), from), func() error { return dir.Rename(from, to) })
}

// renameBetween moves a name from one directory to another, where nothing has the new name.
func (h *host) renameBetween(dir *os.Root, from string, other *os.Root, to string) error {
	return h.changeNames("rename", other, filepath.Join(dir.Name(), from),
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

// changeIn changes a file or directory itself, such as its mode or time.
func (h *host) changeIn(dir *os.Root, name, change string, do func() error) error {
	return h.change(change, dir, name, filepath.Join(dir.Name(), name), do)
}

// writeFileIn replaces a file of the directory atomically, by way of a temporary name.
func (h *host) writeFileIn(dir *os.Root, name, temporary string, content []byte) error {
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
	err = h.writeAt(f, content, 0)
	if err == nil {
		err = h.sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return h.renameIn(dir, temporary, name)
}

// openIn opens a file or directory in a directory. A pipe or device that a workload puts in its place is refused at
// once: the node would wait for the other end, or never be able to make it durable.
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

// readFileIn reads a small regular file of the directory without following a link at its name: it reads the file that
// info, from Lstat, describes.
func readFileIn(dir *os.Root, name string, info os.FileInfo, limit int64) ([]byte, error) {
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, errNotOurs
	}
	f, err := openIn(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(info, opened) {
		return nil, errNotOurs
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// errNotOurs means that a reserved name is not a file that this package made.
var errNotOurs = errors.New("not a file that the node made")
