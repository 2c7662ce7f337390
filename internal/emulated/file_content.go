// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// content is the mounted file system of a volume, or a connection to a share: the directory of its files, and the
// handles that are open on them. The content of a volume that is dismounted or removed is retired; when the volume is
// used again it gets a new one.
type content struct {
	node  *Node
	id    guid.GUID     // of a volume
	share smb.ShareName // of a share on a file server, which has no id
	path  string        // of the directory on the host

	root  *os.Root
	gone  error // why it was retired
	opens []*fileHandle
}

// content returns the mounted content of a volume, and mounts it if needed. Owner, if not nil, may have locked the
// volume.
func (n *Node) content(v *volume, owner *volumeHandle) (*content, error) {
	if err := v.mounted(); err != nil {
		return nil, err
	}
	if locker := v.lockedBy(); locker != nil && locker != owner {
		return nil, win32.ERROR_ACCESS_DENIED
	}
	return n.mount(content{id: v.ID, path: v.disk.image.Files(v.ID)})
}

// mount returns the content of a directory. The first time it opens the directory, and makes it if needed.
func (n *Node) mount(what content) (*content, error) {
	if n.disks == nil {
		return nil, errRebooted
	}
	if c := n.contents[what.path]; c != nil {
		return c, nil
	}
	root, err := n.host.OpenContent(what.path)
	if err != nil {
		return nil, err
	}
	what.node, what.root = n, root
	n.contents[what.path] = &what
	return &what, nil
}

// dismount retires the content of one volume.
func (all contents) dismount(id guid.GUID) {
	all.retire(errDismounted, func(c *content) bool { return !c.isShare() && c.id == id })
}

// retire ends all use of the content and closes the host's directories: handles on it can only be closed.
func (c *content) retire(why error) {
	c.gone = why
	_ = c.root.Close()
	for _, h := range c.opens {
		h.closed = true
		h.release()
	}
	c.opens = nil
}

// open reports whether any file of the volume is open.
func (all contents) open(v *volume) bool {
	c := all[v.disk.image.Files(v.ID)]
	return c != nil && len(c.opens) > 0
}

// pages reports whether Windows pages to a file of the volume.
func (v *volume) pages() bool {
	if !v.formatted() {
		return false
	}
	_, err := os.Lstat(filepath.Join(v.disk.image.Files(v.ID), "pagefile.sys"))
	return err == nil
}

// admits fails if a file cannot be opened in that way: it is to be deleted, or a handle that is already open on it does
// not share the access, or has access that is not shared.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/wdm/nf-wdm-iocheckshareaccess
func (c *content) admits(info os.FileInfo, access, share uint32) (err error) {
	wants := shareNeeded(access)
	for _, h := range c.opens {
		theirs := shareNeeded(h.access)
		switch {
		case !os.SameFile(h.info, info):
		case h.pending:
			return win32.ERROR_DELETE_PENDING
		case wants != 0 && theirs != 0 && (wants&^h.share != 0 || theirs&^share != 0):
			err = win32.ERROR_SHARING_VIOLATION
		}
	}
	return err
}

// shareNeeded returns what others must share to allow the access; attributes and synchronisation need nothing.
func shareNeeded(access uint32) (share uint32) {
	const appendData, execute = win32.FILE_ADD_SUBDIRECTORY, win32.FILE_TRAVERSE
	if access&(readAccess|execute|genericAll) != 0 {
		share |= win32.FILE_SHARE_READ
	}
	if access&(writeAccess|appendData|genericAll) != 0 {
		share |= win32.FILE_SHARE_WRITE
	}
	if access&(win32.DELETE|genericAll) != 0 {
		share |= win32.FILE_SHARE_DELETE
	}
	return share
}

// usageDepth is how deep files may lie to count. Each level costs handles, and a workload makes as many as it likes.
const usageDepth = 24

// fileBytes returns the space that the files of a volume occupy in clusters of a size. It looks at all files each time,
// because they change without the node's knowledge. Drivers ask for the statistics of every volume again and again, so
// it releases the lock meanwhile. Links are not followed, and files that are deleted meanwhile do not count.
func (c *content) fileBytes(cluster uint64) (used uint64, err error) {
	root, n := c.root, c.node
	n.mu.Unlock()
	used, err = hostfiles.BytesIn(root, cluster, usageDepth)
	n.mu.Lock()
	return used, errors.Join(c.gone, err)
}
