// SPDX-License-Identifier: Apache-2.0

package node

import (
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// place is where a path leads: a name in an open directory. It owns every handle that was opened on the way and at the
// place itself; close closes them, once. What is opened through a place belongs to it.
type place struct {
	path     winpath.Path    // as asked for
	dir      kernel.Handle   // the directory that holds the last component; of a working directory, that itself
	name     string          // the last component; "" for a working directory itself
	inVolume bool            // dir lies in the content of a mounted volume or share, which workloads write
	inShare  bool            // dir lies on a share
	opened   []kernel.Handle // in the order of opening
}

func (pl *place) close() {
	for i := len(pl.opened) - 1; i >= 0; i-- {
		_ = pl.opened[i].Close()
	}
	pl.opened = nil
}

// own makes the place close a handle.
func (pl *place) own(h kernel.Handle) kernel.Handle {
	pl.opened = append(pl.opened, h)
	return h
}

// child is the place of one entry of an open directory. It closes what is opened there, not the directory.
func child(directory kernel.Handle, name string) *place { return &place{dir: directory, name: name} }

const shareAll = win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE | win32.FILE_SHARE_DELETE

// open opens what stands at the place as itself, with further access rights.
func (pl *place) open(o *op, access uint32) (*leaf, error) {
	if pl.name == "" {
		return lookAt(pl.dir)
	}
	return pl.openHow(o, kernel.OpenHow{
		Access: access | win32.FILE_READ_ATTRIBUTES, Share: shareAll,
		Disposition: win32.FILE_OPEN, Options: win32.FILE_OPEN_REPARSE_POINT,
	})
}

// openHow opens or makes the object at the place; how is to say FILE_OPEN_REPARSE_POINT.
func (pl *place) openHow(o *op, how kernel.OpenHow) (*leaf, error) {
	var l *leaf
	err := o.whileShared(func() error {
		h, err := o.k.OpenFile(pl.dir, pl.name, how)
		if err != nil {
			return err
		}
		if l, err = lookAt(h); err != nil {
			_ = h.Close()
			return err
		}
		pl.own(h)
		return nil
	})
	return l, err
}
