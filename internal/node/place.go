// SPDX-License-Identifier: Apache-2.0

package node

import (
	"io"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// place is where a path leads: a name in an open directory. It owns every handle opened on the way and at the place
// itself, also those opened through it later, and the visit to a share; close gives them up, once.
type place struct {
	path     winpath.Path  // as requested
	dir      kernel.Handle // the directory that holds the last component; for a working directory, that directory itself
	name     string        // the last component; "" for a working directory itself
	inVolume bool          // dir lies in a mounted volume or share, where workloads write
	inShare  bool          // dir lies on a share
	pinned   bool          // what is opened at the place is held there too, as walk.pin holds the way
	opened   []io.Closer   // in the order of opening
}

func (pl *place) close() {
	for i := len(pl.opened) - 1; i >= 0; i-- {
		_ = pl.opened[i].Close()
	}
	pl.opened = nil
}

// own gives a handle to the place, which will close it.
func (pl *place) own(h kernel.Handle) kernel.Handle {
	pl.opened = append(pl.opened, h)
	return h
}

// release closes a handle of the place before the others.
func (pl *place) release(h kernel.Handle) {
	pl.opened = slices.DeleteFunc(pl.opened, func(other io.Closer) bool { return other == h })
	_ = h.Close()
}

// visit begins a visit to a share: until the place is closed, or at the latest the operation is over, the share's
// mapping is not removed.
func (pl *place) visit(o *op, share string) error {
	leave, err := o.node.visits.enter(o.Context, share)
	if err != nil {
		return o.GaveUp()
	}
	o.AtEnd(leave) // a panic leaves places open
	pl.opened = append(pl.opened, ending(leave))
	return nil
}

// ending is a function as an io.Closer.
type ending func()

// Close calls the function.
func (f ending) Close() error { f(); return nil }

// child returns the place of one entry of an open directory. It closes what is opened there, not the directory.
func child(directory kernel.Handle, name string) *place { return &place{dir: directory, name: name} }

const shareAll = win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE | win32.FILE_SHARE_DELETE

// open opens the object at the place, never what it leads to, with further access rights. At a pinned place it cannot
// be renamed or removed meanwhile.
func (pl *place) open(o *op, access uint32) (*leaf, error) {
	if pl.name == "" {
		return lookAt(pl.dir)
	}
	h, err := pl.handle(o, pl.asItIs(access))
	if err != nil {
		return nil, err
	}
	l, err := lookAt(h)
	if err != nil {
		pl.release(h) // a tree has many places, which are not closed one by one
		return nil, err
	}
	return l, nil
}

// asItIs is how to open what is at the place, whatever it is.
func (pl *place) asItIs(access uint32) kernel.OpenHow {
	access, share := pl.held(access)
	return kernel.OpenHow{
		Access: access | win32.FILE_READ_ATTRIBUTES, Share: share,
		Disposition: win32.FILE_OPEN, Options: win32.FILE_OPEN_REPARSE_POINT,
	}
}

// handle opens or makes the object at the place; how must contain FILE_OPEN_REPARSE_POINT.
func (pl *place) handle(o *op, how kernel.OpenHow) (h kernel.Handle, err error) {
	err = o.RetryShared(func() (err error) {
		h, err = o.Kernel.OpenFile(pl.dir, pl.name, how)
		return err
	})
	if err != nil {
		return nil, err
	}
	return pl.own(h), nil
}

// held adds what makes Windows hold the object of a pinned place, unless the handle is to delete it. A handle with
// rights to attributes only would take no part in sharing, and hold nothing.
//
// https://learn.microsoft.com/windows-hardware/drivers/ddi/wdm/nf-wdm-iocheckshareaccess
func (pl *place) held(access uint32) (withReading, share uint32) {
	if !pl.pinned || access&win32.DELETE != 0 {
		return access, shareAll
	}
	return access | win32.FILE_LIST_DIRECTORY, shareAll &^ win32.FILE_SHARE_DELETE
}
