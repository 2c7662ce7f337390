// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"slices"
	"strings"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// SetVolumeMountPoint implements kernel.Volumes. A malformed volume name is ERROR_INVALID_PARAMETER, an unknown one
// ERROR_FILE_NOT_FOUND; a drive letter that is taken is ERROR_DIR_NOT_EMPTY.
func (n *Node) SetVolumeMountPoint(path, volumeName string) error {
	return n.call("SetVolumeMountPointW", path, func() error { return n.setMountPoint(path, volumeName) })
}

func (n *Node) setMountPoint(path, name string) error {
	p, err := mountPoint(path)
	if err != nil {
		return err
	}
	id, ok := parseVolumeName(name)
	if !ok {
		return win32.ERROR_INVALID_PARAMETER
	}
	if _, err := n.volumeWith(id); err != nil {
		return err
	}
	if len(p.names) == 0 {
		return n.setLetter(p, id)
	}
	const onShare = win32.ERROR_INVALID_PARAMETER // volumes are mounted on local file systems
	if p.unc {
		return onShare
	}
	h, err := n.openToChange(p, path)
	if err != nil {
		return err
	}
	defer func() { _ = h.close() }() // nothing is lost: it holds no data
	if h.content.isShare() {
		return onShare
	}
	if err := h.usable(true); err != nil {
		return err
	}
	e, err := h.changingReparse()
	if err != nil {
		return err
	}
	empty, err := isEmpty(h.self)
	if err != nil {
		return err
	}
	if e.tag != 0 || !empty {
		return win32.ERROR_DIR_NOT_EMPTY
	}
	// The record comes first: a record without a mount point is dropped at the next start, but a mount point without a
	// record would never be found.
	record := mountState{Volume: id, Host: h.content.id, Path: windowsNames(h.names)}
	if err := n.update(func(s *state) { s.dropMount(record); s.Mounts = append(s.Mounts, record) }); err != nil {
		return err
	}
	substitute := ntPrefix + strings.TrimPrefix(volumeName(id), verbatimPrefix)
	r := win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_MOUNT_POINT, SubstituteName: substitute}
	err = n.host.setReparse(h.self, r, 0)
	if err != nil && !errors.Is(err, errNotDurable) { // else the mount point is there
		err = errors.Join(err, h.forgetMount(nil))
	}
	return err
}

// dropMount removes the record of the place, whatever its volume.
func (s *state) dropMount(at mountState) {
	s.Mounts = slices.DeleteFunc(s.Mounts, at.samePlace)
}

func (s *state) hasMount(at mountState) bool { return slices.ContainsFunc(s.Mounts, at.samePlace) }

func (m mountState) samePlace(o mountState) bool {
	return m.Host == o.Host && slices.EqualFunc(m.Path, o.Path, sameName)
}

func (n *Node) setLetter(p ntPath, id guid.GUID) error {
	if p.letter == 0 {
		return win32.ERROR_INVALID_PARAMETER
	}
	letter := string(rune(p.letter))
	taken := func(l letterState) bool { return l.Letter == letter }
	if slices.ContainsFunc(n.state.Letters, taken) {
		return win32.ERROR_DIR_NOT_EMPTY
	}
	return n.update(func(s *state) { s.Letters = append(s.Letters, letterState{Letter: letter, Volume: id}) })
}

// DeleteVolumeMountPoint implements kernel.Volumes. If the volume is gone it fails with ERROR_FILE_NOT_FOUND, which is
// not confirmed for Windows; FSCTL_DELETE_REPARSE_POINT works then.
func (n *Node) DeleteVolumeMountPoint(path string) error {
	return n.call("DeleteVolumeMountPointW", path, func() error { return n.deleteMountPoint(path) })
}

func (n *Node) deleteMountPoint(path string) error {
	p, err := mountPoint(path)
	if err != nil {
		return err
	}
	if len(p.names) == 0 {
		return n.deleteLetter(p)
	}
	h, err := n.openToChange(p, path)
	if err != nil {
		return err
	}
	defer func() { _ = h.close() }() // nothing is lost: it holds no data
	id, err := h.mountedVolume()
	if err != nil {
		return err
	}
	if _, err := n.volumeWith(id); err != nil {
		return err
	}
	if err := h.usable(true); err != nil {
		return err
	}
	if _, err := h.changingReparse(); err != nil {
		return err
	}
	return h.forgetMount(n.host.clearReparse(h.self))
}

// mountGone tells the mount manager, if it notices, that a mount point was removed behind its back, with a result.
func (h *fileHandle) mountGone(was entry, err error) error {
	if was.tag != win32.IO_REPARSE_TAG_MOUNT_POINT || !h.content.node.state.Switches.MountManagerNotices {
		return err
	}
	return h.forgetMount(err)
}

// forgetMount drops the mount manager's record, if any, of a mount point at the handle's path that was removed with a
// result.
func (h *fileHandle) forgetMount(err error) error {
	record := mountState{Host: h.content.id, Path: windowsNames(h.names)}
	removed := err == nil || errors.Is(err, errNotDurable)
	if !removed || !h.content.node.state.hasMount(record) {
		return err
	}
	return h.content.node.follow(err, func(s *state) { s.dropMount(record) })
}

func (n *Node) deleteLetter(p ntPath) error {
	v, err := n.volumeOf(p)
	switch {
	case err != nil:
		return win32.ERROR_FILE_NOT_FOUND
	case p.letter == 0:
		return win32.ERROR_INVALID_PARAMETER
	case v.disk.record.System:
		return win32.ERROR_ACCESS_DENIED
	}
	return n.update(func(s *state) {
		s.Letters = slices.DeleteFunc(s.Letters, func(l letterState) bool { return l.Letter == string(rune(p.letter)) })
	})
}
