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
	if err := h.step("mkdir", filepath.Join(dir.Name(), name)); err != nil {
		return err
	}
	if err := dir.Mkdir(name, 0o777); err != nil {
		return err
	}
	return h.syncRoot(dir)
}

func (h *host) createIn(dir *os.Root, name string) error {
	if err := h.step("create", filepath.Join(dir.Name(), name)); err != nil {
		return err
	}
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return h.syncRoot(dir)
}

func (h *host) removeIn(dir *os.Root, name string) error {
	if err := h.step("remove", filepath.Join(dir.Name(), name)); err != nil {
		return err
	}
	if err := dir.Remove(name); err != nil {
		return err
	}
	return h.syncRoot(dir)
}

func (h *host) renameIn(dir *os.Root, from, to string) error {
	if err := h.step("rename", filepath.Join(dir.Name(), from)); err != nil {
		return err
	}
	if err := dir.Rename(from, to); err != nil {
		return err
	}
	return h.syncRoot(dir)
}

// renameBetween moves a name from one directory to another, where nothing has the new name.
func (h *host) renameBetween(dir *os.Root, from string, other *os.Root, to string) error {
	if err := h.step("rename", filepath.Join(dir.Name(), from)); err != nil {
		return err
	}
	if err := renameBetween(dir, from, other, to); err != nil {
		return err
	}
	return errors.Join(h.syncRoot(other), h.syncRoot(dir))
}

// writeFileIn replaces a file of the directory atomically, by way of a temporary name.
func (h *host) writeFileIn(dir *os.Root, name, temporary string, content []byte) error {
	if err := dir.Remove(temporary); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := h.step("create", filepath.Join(dir.Name(), temporary)); err != nil {
		return err
	}
	f, err := dir.OpenFile(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
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

func (h *host) syncRoot(dir *os.Root) error {
	if err := h.step("syncdir", dir.Name()); err != nil {
		return err
	}
	if h.noSync {
		return nil
	}
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(syncDir(d), d.Close())
}

// readFileIn reads a small regular file of the directory without following a link at its name: it reads the file that
// info, from Lstat, describes.
func readFileIn(dir *os.Root, name string, info os.FileInfo, limit int64) ([]byte, error) {
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, errNotOurs
	}
	f, err := dir.Open(name)
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
