// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
)

// The access list of a directory is a file there, whose name cannot be seen. It travels with the disk and is gone after
// a format. A directory below the root without SYSTEM in its list is closed to the agent, as is a file of which the
// host's mode gives no right to anyone. Of other lists than the root's, no more is known.
const (
	accessFile = hostfiles.ReservedPrefix + "-access"
	accessNew  = accessFile + "-new" // before it gets its name
)

// maxAccessList is more than an access list can have.
const maxAccessList = 1<<16 + 64

func (h *fileHandle) AccessList() (_ []byte, err error) {
	defer h.call("GetSecurityInfo", &err)()
	if err := h.usable(false); err != nil {
		return nil, err
	}
	if !h.has(win32.READ_CONTROL | win32.GENERIC_READ | win32.GENERIC_WRITE) {
		return nil, win32.ERROR_ACCESS_DENIED
	}
	if h.parent != nil || h.content.isShare() {
		return nil, win32.ERROR_NOT_SUPPORTED
	}
	return accessList(h.content.root)
}

func (h *fileHandle) SetAccessList(descriptor []byte) (err error) {
	defer h.call("SetKernelObjectSecurity", &err)()
	if err := h.usable(true); err != nil {
		return err
	}
	if !h.has(win32.WRITE_DAC) {
		return win32.ERROR_ACCESS_DENIED
	}
	if h.self == nil || h.content.isShare() {
		return win32.ERROR_NOT_SUPPORTED
	}
	if l, err := win32.ParseAccessList(descriptor); err != nil || l.Everyone {
		return win32.ERROR_INVALID_PARAMETER
	}
	return h.node.host.WriteFileIn(h.self, accessFile, accessNew, descriptor)
}

// accessList returns the descriptor of a directory: the one that was set, or that of a new volume.
func accessList(dir *os.Root) ([]byte, error) {
	info, err := dir.Lstat(accessFile)
	if errors.Is(err, fs.ErrNotExist) {
		return newVolumeAccess().Bytes(), nil
	}
	if err != nil {
		return nil, err
	}
	return hostfiles.ReadFileIn(dir, accessFile, info, maxAccessList)
}

// parsedAccess returns the list of a directory.
func parsedAccess(dir *os.Root) (win32.AccessList, error) {
	descriptor, err := accessList(dir)
	if err != nil {
		return win32.AccessList{}, err
	}
	return win32.ParseAccessList(descriptor)
}

// shutsOut returns ERROR_ACCESS_DENIED if the list of an open object below the root leaves the agent out.
func (h *fileHandle) shutsOut(e hostfiles.Entry) error {
	if h.parent == nil {
		return nil
	}
	closed := e.Info.Mode().IsRegular() && e.Info.Mode().Perm() == 0
	if h.self != nil {
		l, err := parsedAccess(h.self)
		if err != nil {
			return err
		}
		closed = !l.Everyone && !slices.ContainsFunc(l.Allowed(), func(a win32.AccessEntry) bool {
			return a.SID == win32.SystemSID() || a.SID == win32.AdministratorsSID()
		})
	}
	if closed {
		return win32.ERROR_ACCESS_DENIED
	}
	return nil
}

// allowedByDirectory reports whether the list of a directory, which leaves SYSTEM nothing to wish for, allows to open
// what is in it and has a list of its own without SYSTEM (MS-FSA 2.1.5.1.2.1).
func allowedByDirectory(how kernel.OpenOptions) bool {
	return how.Asynchronous && (how.Access == win32.DELETE || how.Access == win32.FILE_READ_ATTRIBUTES)
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
	defer n.control()()
	at, err := n.lookUp(path, true)
	if err != nil {
		return nil, err
	}
	defer at.close()
	if at.parent != nil || at.content.isShare() {
		return nil, win32.ERROR_DIR_NOT_ROOT
	}
	l, err := parsedAccess(at.content.root)
	return l.Allowed(), err
}
