// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"io/fs"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ntpath"
)

// SystemWindowsDirectory implements kernel.Files.
func (n *Node) SystemWindowsDirectory() (string, error) { return `C:\Windows`, nil }

// OpenFile implements kernel.Files.
func (n *Node) OpenFile(dir kernel.Handle, name string, how kernel.OpenOptions) (_ kernel.Handle, err error) {
	object := name
	if d, ok := dir.(*fileHandle); ok {
		object = kernel.ObjectIn(d.object, name)
	}
	defer n.call("NtCreateFile", object, &err)()
	h, err := n.openFile(dir, name, how)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// QueryAttributes implements kernel.Files.
func (n *Node) QueryAttributes(path string) (err error) {
	defer n.call("NtQueryFullAttributesFile", path, &err)()
	p, err := ntpath.ParseVerbatim(path)
	if err != nil {
		return err
	}
	at, err := n.enter(p)
	if err != nil || at.parent == nil {
		return err
	}
	defer at.close()
	e, err := hostfiles.Find(at.parent, at.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return win32.ERROR_FILE_NOT_FOUND
	case err != nil:
		return err
	case p.Slash && !e.IsDir():
		return win32.ERROR_INVALID_NAME
	}
	return at.content.admits(e.Info, 0, 0)
}

func (n *Node) openFile(dir kernel.Handle, name string, how kernel.OpenOptions) (*fileHandle, error) {
	follow := how.Options&win32.FILE_OPEN_REPARSE_POINT == 0
	if dir == nil {
		p, err := ntpath.ParseVerbatim(name)
		if err != nil {
			return nil, err
		}
		walk := n.resolve
		if how.DontReparse {
			walk = n.walk
		}
		at, err := walk(p, follow)
		if err != nil {
			return nil, err
		}
		if p.Slash && at.found != nil && !at.found.IsDir() && how.Options&win32.FILE_DIRECTORY_FILE == 0 {
			at.close()
			return nil, win32.ERROR_INVALID_NAME // a separator after the name of a file: STATUS_OBJECT_NAME_INVALID
		}
		if p.Slash {
			how.Options |= win32.FILE_DIRECTORY_FILE
		}
		return at.open(name, how)
	}
	parent, ok := dir.(*fileHandle)
	if !ok {
		return nil, win32.ERROR_INVALID_HANDLE
	}
	if !hostfiles.IsFileName(name) {
		return nil, win32.ERROR_INVALID_NAME
	}
	at, err := parent.below(name, follow)
	if link, ok := errors.AsType[elsewhere](err); ok {
		at, err = n.resolve(link.Path, true)
	}
	if err != nil {
		return nil, err
	}
	return at.open(kernel.ObjectIn(parent.object, name), how)
}

// below returns the place of a name in an open directory.
func (h *fileHandle) below(name string, follow bool) (*location, error) {
	c := h.content
	if c.isShare() { // a lost connection would be made again with the credentials of the moment
		c.node.meet(c.share.Server, c.share.Share)
	}
	if err := h.usable(false); err != nil {
		return nil, err
	}
	if h.self == nil {
		return nil, win32.ERROR_INVALID_PARAMETER // not a directory
	}
	if err := hostfiles.CheckNotLink(h.self); err != nil {
		return nil, err
	}
	dir, err := h.self.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	at := &location{content: c, parent: dir, above: h.names(), name: name}
	return at.look(ntpath.Path{Volume: c.id, Names: []string{name}}, follow)
}

// open opens or creates the file at a place. The handle takes the place over; if open fails, the place is closed.
func (p *location) open(object string, how kernel.OpenOptions) (_ *fileHandle, err error) {
	c := p.content
	h := &fileHandle{handle: handle{node: c.node, object: object, access: how.Access}, location: p, share: how.Share}
	defer func() {
		if err != nil {
			h.release()
		}
	}()
	parent := p.parent
	if p.parent == nil { // the root directory of the volume
		info, err := c.root.Stat(".")
		if err != nil {
			return nil, err
		}
		parent, p.found = c.root, &hostfiles.Entry{Name: ".", Info: info}
	}
	e, err := p.find(how)
	if err != nil {
		return nil, err
	}
	switch {
	case how.Options&win32.FILE_DIRECTORY_FILE != 0 && !e.IsDir():
		return nil, win32.ERROR_DIRECTORY
	case p.parent == nil && c.spec().ClosedRoot:
		return nil, win32.ERROR_ACCESS_DENIED
	}
	if e.Unreadable() && h.has(win32.FILE_READ_DATA|win32.FILE_TRAVERSE|win32.GENERIC_READ) {
		return nil, win32.ERROR_ACCESS_DENIED
	}
	h.info = e.Info
	if e.IsDir() {
		if h.self, err = hostfiles.OpenDir(parent, e); err != nil {
			return nil, err
		}
	}
	if !allowedByDirectory(how) {
		if err := h.shutsOut(e); err != nil {
			return nil, err
		}
	}
	if err := c.admits(h.info, h.access, h.share); err != nil {
		return nil, err
	}
	c.opens = append(c.opens, h)
	return h, nil
}

// find returns the entry at the place, and makes a directory if how asks for that. Making files is not emulated.
func (p *location) find(how kernel.OpenOptions) (hostfiles.Entry, error) {
	switch {
	case p.found != nil && how.Disposition == win32.FILE_CREATE:
		return hostfiles.Entry{}, win32.ERROR_ALREADY_EXISTS
	case p.found != nil:
		return *p.found, nil
	case how.Disposition == win32.FILE_OPEN:
		return hostfiles.Entry{}, fs.ErrNotExist
	case how.Options&win32.FILE_DIRECTORY_FILE == 0:
		return hostfiles.Entry{}, win32.ERROR_NOT_SUPPORTED
	case hostfiles.IsReserved(p.name):
		return hostfiles.Entry{}, win32.ERROR_ACCESS_DENIED
	case p.content.readOnly():
		return hostfiles.Entry{}, win32.ERROR_WRITE_PROTECT
	}
	if err := p.content.room(); err != nil {
		return hostfiles.Entry{}, err
	}
	if err := p.content.node.host.MkdirIn(p.parent, p.name); err != nil {
		return hostfiles.Entry{}, err
	}
	return hostfiles.Lookup(p.parent, p.name)
}

// readOnly reports whether the files are on a read-only volume.
func (c *content) readOnly() bool {
	v := c.node.disks.volume(c.id)
	return v != nil && v.readOnly()
}

// room returns ERROR_DISK_FULL if the files in a volume's root directory leave no room on it. Others do not count here:
// each new file would cost a walk.
func (c *content) room() error {
	v := c.node.disks.volume(c.id)
	if v == nil {
		return nil
	}
	used, err := hostfiles.BytesIn(c.root, uint64(v.boot.ClusterBytes), 1)
	if err == nil && used+v.boot.MetadataBytes() >= v.sizeBytes() {
		err = win32.ERROR_DISK_FULL
	}
	return err
}
