// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// content is the mounted file system of a volume, or a connection to a share: the directory that its files are in, and
// who has them open. A volume that is dismounted, or goes, leaves its content retired; when it is used again it gets
// another.
type content struct {
	node  *Node
	id    guid.GUID // of a volume
	share shareName // of a share on a file server, which has no id

	mu    sync.Mutex // one change, look-up or opening at a time
	root  *os.Root
	dir   *os.File // the root as a file, where and once somebody wanted it
	gone  error    // why nothing works any more
	opens []*fileHandle
}

// content mounts a volume, or gives what is mounted.
func (n *Node) content(v *volume) (*content, error) { return n.contentFor(v, nil) }

// contentFor is content for one who may have locked the volume.
func (n *Node) contentFor(v *volume, owner *volumeHandle) (*content, error) {
	if err := v.mounted(); err != nil {
		return nil, err
	}
	if v.lockedByOther(owner) {
		return nil, win32.ERROR_ACCESS_DENIED
	}
	c, err := n.mount(v.id)
	if err != nil {
		return nil, err
	}
	if now, ok := n.volume(v.id); !ok || !now.formatted() { // it went while this was going on
		n.retireContent(v.id, errVolumeGone)
		return nil, win32.ERROR_PATH_NOT_FOUND
	}
	return c, nil
}

// mount gives the content of a volume, and opens its directory, made when needed, the first time.
func (n *Node) mount(id guid.GUID) (*content, error) {
	n.mu.RLock()
	c := n.contents[id]
	n.mu.RUnlock()
	if c != nil {
		return c, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.disks == nil {
		return nil, errRebooted
	}
	if c := n.contents[id]; c != nil {
		return c, nil
	}
	root, err := n.openContentDir(contentPath(n.dir, id))
	if err != nil {
		return nil, err
	}
	c = &content{node: n, id: id, root: root}
	n.contents[id] = c
	return c, nil
}

// openContentDir opens the directory that files are in, made when needed.
func (n *Node) openContentDir(path string) (*os.Root, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		if err = n.host.mkdir(path); err == nil {
			info, err = os.Lstat(path)
		}
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() { // somebody else's link: the files would be anywhere
		return nil, win32.ERROR_UNRECOGNIZED_VOLUME
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(win32.ERROR_UNRECOGNIZED_VOLUME, root.Close())
	}
	return root, nil
}

func (v *volume) lockedByOther(owner *volumeHandle) bool {
	v.disk.mu.RLock()
	defer v.disk.mu.RUnlock()
	opens := v.disk.open[v.id]
	return opens != nil && opens.locked != nil && opens.locked != owner
}

// retire ends all use of the content, and lets go of the host's directories: its handles are only good for closing.
func (c *content) retire(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone == nil {
		c.gone = why
		_ = c.root.Close() // nothing is lost: a directory handle holds no data
		if c.dir != nil {
			_ = c.dir.Close()
		}
		for _, h := range c.opens {
			h.closed = true
			_ = h.release()
		}
		c.opens = nil
	}
}

// filesOpen tells whether any file of the volume is open.
func (n *Node) filesOpen(id guid.GUID) bool {
	n.mu.RLock()
	c := n.contents[id]
	n.mu.RUnlock()
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.opens) > 0
}

// shared checks an opening against those who have the file open already, as Windows does: what either side wants the
// other must share. The caller has mu.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/wdm/nf-wdm-iocheckshareaccess
func (c *content) shared(info os.FileInfo, access, share uint32) error {
	wants := shareNeeded(access)
	if wants == 0 {
		return nil
	}
	for _, h := range c.opens {
		theirs := shareNeeded(h.access)
		if theirs != 0 && os.SameFile(h.info, info) && (wants&^h.share != 0 || theirs&^share != 0) {
			return win32.ERROR_SHARING_VIOLATION
		}
	}
	return nil
}

// shareNeeded is what others must share for the access to be possible; attributes and synchronisation need nothing.
func shareNeeded(access uint32) (share uint32) {
	const genericAll, appendData, execute = 0x10000000, win32.FILE_ADD_SUBDIRECTORY, win32.FILE_TRAVERSE
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

// add registers a handle; the caller has mu.
func (c *content) add(h *fileHandle) { c.opens = append(c.opens, h) }

func (c *content) drop(h *fileHandle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opens = slices.DeleteFunc(c.opens, func(o *fileHandle) bool { return o == h })
}
