// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// Rename implements kernel.Handle. Like Windows it moves no directory below which anything is open.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_file_rename_information
func (h *fileHandle) Rename(dir kernel.Handle, name string) error {
	return h.using("NtSetInformationFile", true, func() error {
		into, ok := dir.(*fileHandle)
		switch {
		case !ok:
			return win32.ERROR_INVALID_HANDLE
		case !isFileName(name):
			return win32.ERROR_INVALID_NAME
		case isReserved(name):
			return win32.ERROR_ACCESS_DENIED
		case into.content != h.content:
			return win32.ERROR_NOT_SAME_DEVICE
		}
		return h.rename(into, name)
	})
}

func (h *fileHandle) rename(into *fileHandle, name string) error {
	e, err := h.deletable(true)
	if err != nil {
		return err
	}
	if err := into.usable(true); err != nil {
		return err
	}
	if into.self == nil {
		return win32.ERROR_INVALID_PARAMETER // not a directory
	}
	if err := isLink(into.self); err != nil {
		return err
	}
	from, to := windowsNames(h.names), append(windowsNames(into.names), name)
	below := func(o *fileHandle) bool { return isBelow(windowsNames(o.names), from) }
	if slices.ContainsFunc(h.content.opens, below) || isBelow(to, from) {
		return win32.ERROR_ACCESS_DENIED
	}
	taken, err := lookup(into.self, name)
	switch {
	case err == nil && os.SameFile(taken.info, h.info) && e.name != hostName(name): // its own name, in another case
	case err == nil:
		return win32.ERROR_ALREADY_EXISTS
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent, err := into.self.OpenRoot(".")
	if err != nil {
		return err
	}
	err = h.content.node.host.renameBetween(h.parent, e.name, parent, hostName(name))
	if err != nil && !errors.Is(err, errNotDurable) {
		return errors.Join(err, parent.Close())
	}
	return errors.Join(h.moved(parent, append(slices.Clone(into.names), hostName(name))), h.mountsMoved(from, to, err))
}

// isBelow reports whether a path leads to something in a directory.
func isBelow(names, dir []string) bool {
	return len(names) > len(dir) && slices.EqualFunc(names[:len(dir)], dir, sameName)
}

// moved gives the handles that are open on a file its new place. It takes over the new parent.
func (h *fileHandle) moved(parent *os.Root, names []string) (err error) {
	for _, o := range h.content.opens {
		if o.parent == nil || !os.SameFile(o.info, h.info) {
			continue
		}
		own, openErr := parent.OpenRoot(".")
		if openErr != nil {
			err = errors.Join(err, openErr)
			continue // the handle finds its file no more
		}
		err = errors.Join(err, o.parent.Close())
		o.parent, o.name, o.names = own, names[len(names)-1], names
	}
	return errors.Join(err, parent.Close())
}

// mountsMoved tells the mount manager, if it notices, that mount points have another path after a move with a result.
// Otherwise it goes on listing the old ones.
func (h *fileHandle) mountsMoved(from, to []string, err error) error {
	inIt := func(m mountState) bool {
		return m.Host == h.content.id && (isBelow(m.Path, from) || slices.EqualFunc(m.Path, from, sameName))
	}
	n := h.content.node
	if !n.state.Switches.MountManagerNotices || !slices.ContainsFunc(n.state.Mounts, inIt) {
		return err
	}
	return n.follow(err, func(s *state) {
		for i, m := range s.Mounts {
			if inIt(m) {
				s.Mounts[i].Path = slices.Concat(to, m.Path[len(from):])
			}
		}
	})
}
