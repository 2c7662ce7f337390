// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"path/filepath"
)

// removeAll removes a tree of the host, if it is there. It has few directories open, however deep the tree is: what
// lies in a directory of it and has content is moved to its top.
func (h *host) removeAll(name string) error {
	err := h.inParent(name, h.removeAllIn)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func (h *host) removeAllIn(dir *os.Root, name string) error {
	if err := h.step("removeAll", filepath.Join(dir.Name(), name)); err != nil {
		return err
	}
	if err := dir.Remove(name); err == nil || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	top, err := dir.OpenRoot(name)
	if err != nil {
		return h.noted(err)
	}
	for again := true; again && err == nil; {
		again, err = flatten(top)
	}
	if err = errors.Join(err, top.Close()); err == nil {
		err = dir.Remove(name)
	}
	return h.noted(err)
}

// flatten removes what a directory holds, except what it moves up from below. It reports whether it found anything.
func flatten(top *os.Root) (found bool, err error) {
	err = everyName(top, func(name string) error {
		found = true
		if top.Remove(name) == nil {
			return nil
		}
		dir, err := top.OpenRoot(name)
		if err != nil {
			return err
		}
		err = everyName(dir, func(below string) error {
			if dir.Remove(below) == nil {
				return nil
			}
			return renameBetween(dir, below, top, droppedPrefix+newImageName())
		})
		return errors.Join(err, dir.Close(), top.Remove(name))
	})
	return found, err
}
