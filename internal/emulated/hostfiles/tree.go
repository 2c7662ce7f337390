// SPDX-License-Identifier: Apache-2.0

package hostfiles

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveAll removes a tree of the host, if it is there.
func (h *Host) RemoveAll(name string) error {
	err := h.InParent(name, h.RemoveAllIn)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// RemoveAllIn removes a name in a directory, and all that is below it.
func (h *Host) RemoveAllIn(dir *os.Root, name string) error {
	return h.Change("removeAll", filepath.Join(dir.Name(), name), func() error { return dir.RemoveAll(name) })
}

// CopyDir copies a directory.
func (h *Host) CopyDir(from, to string) error {
	source, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := h.MkdirAll(to, 0o700); err != nil {
		return err
	}
	target, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	return errors.Join(h.copyTree(source, target), target.Close())
}

// Fill copies a file, with holes where it has holes or zeros.
func (h *Host) Fill(out, in *os.File) error {
	info, err := in.Stat()
	if err != nil {
		return err
	}
	MarkSparse(out)
	if err := h.Truncate(out, info.Size()); err != nil {
		return err
	}
	return EachData(in, func(at int64, part []byte) error {
		if len(bytes.TrimLeft(part, "\x00")) == 0 {
			return nil
		}
		return h.WriteAt(out, part, at)
	})
}

// EachData calls do with the parts of a file that may have data, in their order, until it fails.
func EachData(f *os.File, do func(at int64, part []byte) error) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	buffer := make([]byte, 1<<20)
	for end := int64(0); ; {
		at, next, err := NextData(f, end, info.Size())
		if err != nil {
			return err
		}
		if end = next; at >= end {
			return nil
		}
		for ; at < end; at += int64(len(buffer)) {
			part := buffer[:min(int64(len(buffer)), end-at)]
			n, err := f.ReadAt(part, at)
			if err != nil && !errors.Is(err, io.EOF) { // it has become shorter
				return err
			}
			if err := do(at, part[:n]); err != nil {
				return err
			}
		}
	}
}

// copyTree copies what a directory holds, without following links. Sockets, pipes and devices are left out: nothing
// listens at a copy.
func (h *Host) copyTree(from, to *os.Root) error {
	return everyName(from, func(name string) error { return h.copyName(from, to, name) })
}

func (h *Host) copyName(from, to *os.Root, name string) error {
	info, err := from.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a workload removed it
	}
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		err = h.copyBelow(from, to, name, info)
	case mode.IsRegular():
		err = h.copyFile(from, to, name, info)
	case mode&fs.ModeSymlink != 0:
		target, err := from.Readlink(name)
		if err != nil {
			return err
		}
		return h.Change("symlink", filepath.Join(to.Name(), name), func() error { return to.Symlink(target, name) })
	default:
		return nil
	}
	if err != nil {
		return err
	}
	return h.Change("chmod", filepath.Join(to.Name(), name), func() error { // the original's rights and time
		return errors.Join(to.Chmod(name, info.Mode().Perm()), to.Chtimes(name, info.ModTime(), info.ModTime()))
	})
}

// copyBelow copies a directory with what it holds.
func (h *Host) copyBelow(from, to *os.Root, name string, info fs.FileInfo) error {
	below, err := OpenDir(from, Entry{Name: name, Info: info})
	if err != nil {
		return err
	}
	defer below.Close()
	if err := h.MkdirIn(to, name); err != nil {
		return err
	}
	copied, err := to.OpenRoot(name)
	if err != nil {
		return err
	}
	return errors.Join(h.copyTree(below, copied), copied.Close())
}

// copyFile copies a regular file.
func (h *Host) copyFile(from, to *os.Root, name string, info fs.FileInfo) error {
	in, err := openFileIn(from, name, info)
	if err != nil {
		return err
	}
	defer in.Close()
	return h.ReplaceIn(to, name, DroppedPrefix+NewName(), func(out *os.File) error { return h.Fill(out, in) })
}
