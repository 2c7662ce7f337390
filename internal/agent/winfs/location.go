// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"io"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// Location is where a path leads: a name in an open directory. It owns every handle opened on the way and at the end,
// also those opened through it later, and the hold of a share; Close gives them up, once.
type Location struct {
	Path winpath.Path // as requested

	fs       *FS
	dir      kernel.Handle // the directory that holds the last component; for a working directory, that directory itself
	name     string        // the last component; "" for a working directory itself
	inVolume bool          // dir lies in a mounted volume or share, where workloads write
	inShare  bool          // dir lies on a share
	pinned   bool          // what is opened here is pinned, too, as Walk.Pin pins the way
	opened   []io.Closer   // in the order of opening
}

// InShare reports whether the location lies on a share.
func (loc *Location) InShare() bool { return loc.inShare }

// Close closes everything that was opened on the way and at the location.
func (loc *Location) Close() {
	for _, c := range slices.Backward(loc.opened) {
		_ = c.Close()
	}
	loc.opened = nil
}

// own makes the location close a handle.
func (loc *Location) own(h kernel.Handle) kernel.Handle {
	loc.opened = append(loc.opened, h)
	return h
}

// Release closes a handle of the location before the others.
func (loc *Location) Release(h kernel.Handle) {
	loc.opened = slices.DeleteFunc(loc.opened, func(other io.Closer) bool { return other == h })
	_ = h.Close()
}

// holdShare prevents the removal of a share's mapping until the location is closed, or the operation is over.
func (loc *Location) holdShare(share string) error {
	leave, err := loc.fs.policy.shares.enter(loc.fs.run.Context, share)
	if err != nil {
		return loc.fs.run.GaveUp()
	}
	loc.fs.run.AtEnd(leave) // a panic leaves locations open
	loc.opened = append(loc.opened, closerFunc(leave))
	return nil
}

// closerFunc is a function as an io.Closer.
type closerFunc func()

// Close calls the function.
func (f closerFunc) Close() error { f(); return nil }

// Child returns the location of one entry of an open directory. It closes what is opened there, not the directory.
func (fs *FS) Child(directory kernel.Handle, name string) *Location {
	return &Location{fs: fs, dir: directory, name: name}
}

// ShareAll lets others open a file for everything.
const ShareAll = win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE | win32.FILE_SHARE_DELETE

// Open opens the object at the location, never what it leads to, with further access rights. At a pinned location it
// cannot be renamed or removed meanwhile.
func (loc *Location) Open(access uint32) (*File, error) {
	if loc.name == "" {
		return LookAt(loc.dir)
	}
	return loc.openAndLook(loc.openAsIs(kernel.OpenOptions{Access: access}), LookAt)
}

// openAndLook opens the object at the location, and closes it if it cannot be looked at: a tree has many locations,
// which are not closed one by one.
func (loc *Location) openAndLook(how kernel.OpenOptions, look func(kernel.Handle) (*File, error)) (*File, error) {
	h, err := loc.open(how)
	if err != nil {
		return nil, err
	}
	f, err := look(h)
	if err != nil {
		loc.Release(h)
		return nil, err
	}
	return f, nil
}

// openToDelete opens an object whose own access list does not admit the agent. The list of its directory may allow to
// delete it (FILE_DELETE_CHILD), but grants no other right; any handle can ask for the kind of its object.
//
// https://github.com/golang/go/issues/77402, and MS-FSA 2.1.5.1.2.1
func (loc *Location) openToDelete() (*File, error) {
	how := loc.openAsIs(kernel.OpenOptions{Access: win32.DELETE, Asynchronous: true})
	how.Access = win32.DELETE
	return loc.openAndLook(how, lookWithoutRights)
}

// openAsIs adds the options that open the object at the location, of whatever kind, and not what it leads to.
func (loc *Location) openAsIs(how kernel.OpenOptions) kernel.OpenOptions {
	how.Access, how.Share = loc.pinning(how.Access)
	how.Access |= win32.FILE_READ_ATTRIBUTES
	how.Disposition, how.Options = win32.FILE_OPEN, win32.FILE_OPEN_REPARSE_POINT
	return how
}

// open opens or makes the object at the location; how must contain FILE_OPEN_REPARSE_POINT.
func (loc *Location) open(how kernel.OpenOptions) (kernel.Handle, error) {
	return loc.openIn(loc.dir, loc.name, how)
}

// openIn opens or makes an object, which the location closes.
func (loc *Location) openIn(dir kernel.Handle, name string, how kernel.OpenOptions) (h kernel.Handle, err error) {
	err = loc.fs.run.RetryShared(func() (err error) {
		h, err = loc.fs.kernel.OpenFile(dir, name, how)
		return err
	})
	if err != nil {
		return nil, err
	}
	return loc.own(h), nil
}

// pinning adds the access by which Windows pins the object of a pinned location, unless the handle is to delete it. A
// handle with rights to attributes only takes no part in sharing checks, and pins nothing.
//
// https://learn.microsoft.com/windows-hardware/drivers/ddi/wdm/nf-wdm-iocheckshareaccess
func (loc *Location) pinning(access uint32) (withReading, share uint32) {
	if !loc.pinned || access&win32.DELETE != 0 {
		return access, ShareAll
	}
	return access | win32.FILE_LIST_DIRECTORY, ShareAll &^ win32.FILE_SHARE_DELETE
}
