// SPDX-License-Identifier: Apache-2.0

package hostfiles

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// Host makes every change to the state directory, one primitive per method, so that a test can make the process "die"
// or the host's disk fail before any of them.
type Host struct {
	// Before is called with the kind of each change, and the path of what is changed, before it is made; if it fails, its
	// error replaces the change. Nil outside tests.
	Before func(change, path string) error
}

// step is called before each change.
func (h *Host) step(change, path string) error {
	if h.Before == nil {
		return nil
	}
	return h.Before(change, path)
}

// WriteAt writes all of b. If Before ends the process, as it were, half of the bytes are written; a host that refuses,
// with an error of its own, writes none.
func (h *Host) WriteAt(f *os.File, b []byte, offset int64) error {
	if err := h.step("write", f.Name()); err != nil {
		if refused := syscall.Errno(0); !errors.As(err, &refused) {
			_, _ = f.WriteAt(b[:len(b)/2], offset)
		}
		return err
	}
	_, err := f.WriteAt(b, offset)
	return err
}

// Truncate sets the size of a file.
func (h *Host) Truncate(f *os.File, size int64) error {
	return h.Change("truncate", f.Name(), func() error { return f.Truncate(size) })
}

// Rename moves a file or directory.
func (h *Host) Rename(from, to string) error {
	return h.Change("rename", from, func() error { return os.Rename(from, to) })
}

// MkdirAll makes a directory with its parents, unless they are there.
func (h *Host) MkdirAll(name string, mode os.FileMode) error {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil
	}
	return h.Change("mkdir", name, func() error { return os.MkdirAll(name, mode) })
}

// WriteFile replaces a file atomically: it has its old content or the new one, whatever happens.
func (h *Host) WriteFile(name string, content []byte) error {
	return h.InParent(name, func(dir *os.Root, name string) error {
		return h.WriteFileIn(dir, name, name+".new", content)
	})
}

// WriteJSON is WriteFile with the JSON of a value, in one line.
func (h *Host) WriteJSON(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return h.WriteFile(name, append(text, '\n'))
}

// InParent calls do with a name and its open directory.
func (h *Host) InParent(name string, do func(dir *os.Root, name string) error) error {
	dir, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(do(dir, filepath.Base(name)), dir.Close())
}

// Change makes one change.
func (h *Host) Change(change, path string, do func() error) error {
	if err := h.step(change, path); err != nil {
		return err
	}
	return do()
}

// The changes go through an open directory. Inside a volume it is never opened by a path from the top.

// MkdirIn makes a directory in a directory.
func (h *Host) MkdirIn(dir *os.Root, name string) error {
	return h.Change("mkdir", filepath.Join(dir.Name(), name), func() error { return dir.Mkdir(name, 0o777) })
}

func (h *Host) removeIn(dir *os.Root, name string) error {
	return h.Change("remove", filepath.Join(dir.Name(), name), func() error { return dir.Remove(name) })
}

// RenameIn renames what is in a directory.
func (h *Host) RenameIn(dir *os.Root, from, to string) error {
	return h.Change("rename", filepath.Join(dir.Name(), from), func() error { return dir.Rename(from, to) })
}

// RenameBetween moves a name from one directory to another, where nothing has the new name.
func (h *Host) RenameBetween(dir *os.Root, from string, other *os.Root, to string) error {
	return h.Change("rename", filepath.Join(dir.Name(), from), func() error {
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
	})
}

// WriteFileIn replaces a file of the directory atomically, by way of a temporary name.
func (h *Host) WriteFileIn(dir *os.Root, name, temporary string, content []byte) error {
	return h.ReplaceIn(dir, name, temporary, func(f *os.File) error { return h.WriteAt(f, content, 0) })
}

// ReplaceIn replaces a file of the directory by one that fill fills.
func (h *Host) ReplaceIn(dir *os.Root, name, temporary string, fill func(f *os.File) error) error {
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
	if err = errors.Join(fill(f), f.Close()); err != nil {
		return err
	}
	return h.RenameIn(dir, temporary, name)
}

// openFileIn opens the regular file of the directory that info, from Lstat, describes, and not what a link at its name
// leads to. A pipe that a workload puts in its place is refused at once: the node would wait for the other end.
func openFileIn(dir *os.Root, name string, info os.FileInfo) (*os.File, error) {
	if !info.Mode().IsRegular() {
		return nil, errNotOurs
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|withoutWaiting, 0)
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

// ReadFileIn reads a small file by openFileIn.
func ReadFileIn(dir *os.Root, name string, info os.FileInfo, limit int64) ([]byte, error) {
	if info.Size() > limit {
		return nil, errNotOurs
	}
	f, err := openFileIn(dir, name, info)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content := make([]byte, info.Size())
	if _, err = io.ReadFull(f, content); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errNotOurs // it has become shorter
	}
	return content, err
}

// errNotOurs means that a reserved name is not a file that this package made.
var errNotOurs = errors.New("not a file that the node made")
