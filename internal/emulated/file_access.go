// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"io/fs"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
)

// The access list of a volume's root directory is a file there, whose name cannot be seen. It travels with the disk and
// is gone after a format. Other files and directories have no list of their own, and no list keeps anybody out.
const (
	accessFile = hostfiles.ReservedPrefix + "-access"
	accessNew  = accessFile + "-new" // before it gets its name
)

// maxAccessList is more than an access list can have.
const maxAccessList = 1<<16 + 64

func (h *fileHandle) AccessList() (list []byte, err error) {
	err = h.using("GetSecurityInfo", false, func() (err error) {
		if err := h.accessChecked(win32.READ_CONTROL | win32.GENERIC_READ | win32.GENERIC_WRITE); err != nil {
			return err
		}
		list, err = h.content.accessList()
		return err
	})
	return list, err
}

func (h *fileHandle) SetAccessList(descriptor []byte) error {
	return h.using("SetKernelObjectSecurity", true, func() error {
		if err := h.accessChecked(win32.WRITE_DAC); err != nil {
			return err
		}
		if l, err := win32.ParseAccessList(descriptor); err != nil || l.Everyone {
			return win32.ERROR_INVALID_PARAMETER
		}
		return h.content.node.host.WriteFileIn(h.content.root, accessFile, accessNew, descriptor)
	})
}

// accessChecked fails for a handle without one of the rights, and for what has no list here.
func (h *fileHandle) accessChecked(rights uint32) error {
	switch {
	case !h.has(rights):
		return win32.ERROR_ACCESS_DENIED
	case h.parent != nil || h.content.isShare():
		return win32.ERROR_NOT_SUPPORTED
	}
	return nil
}

// accessList returns the descriptor of the root directory: the one that was set, or that of a new volume.
func (c *content) accessList() ([]byte, error) {
	info, err := c.root.Lstat(accessFile)
	if errors.Is(err, fs.ErrNotExist) {
		return newVolumeAccess().Bytes(), nil
	}
	if err != nil {
		return nil, err
	}
	return hostfiles.ReadFileIn(c.root, accessFile, info, maxAccessList)
}

// newVolumeAccess is the list of a new volume. The rights that Windows gives to ordinary users there are not confirmed.
func newVolumeAccess() (l win32.AccessList) {
	const users = "S-1-5-32-545"
	l.Add(win32.NewAccessEntry(win32.AdministratorsSID(), win32.FILE_ALL_ACCESS))
	l.Add(win32.NewAccessEntry(win32.SystemSID(), win32.FILE_ALL_ACCESS))
	l.Add(win32.NewAccessEntry(users, win32.FILE_GENERIC_READ|win32.FILE_GENERIC_EXECUTE))
	return l
}

// RootAccess returns the entries of the access list of a mounted volume's root directory, by a path that leads there.
func (n *Node) RootAccess(path string) (entries []win32.AccessEntry, err error) {
	err = n.control(func() error {
		v, err := n.rootVolume(path)
		if err != nil {
			return err
		}
		c, err := n.content(v, nil)
		if err != nil {
			return err
		}
		list, err := c.accessList()
		if err != nil {
			return err
		}
		parsed, err := win32.ParseAccessList(list)
		entries = parsed.Allowed()
		return err
	})
	return entries, err
}
