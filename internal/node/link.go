// SPDX-License-Identifier: Apache-2.0

package node

import (
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// directoryLink describes a symbolic link to a directory, which an operation is to make.
type directoryLink struct {
	at         winpath.Path
	substitute string                    // where Windows goes: an NT path
	print      string                    // what programs that read the link see
	same       func(winpath.Target) bool // reports whether a link leads there already
}

// makeLink makes the link, whose parent directory must exist. If the same link exists, that is success; anything else
// there is AlreadyExists.
func (o *op) makeLink(link directoryLink) error {
	pl, err := o.locate(link.at, walk{})
	if err != nil {
		return withoutParent(link, err)
	}
	defer pl.close()
	h, err := pl.handle(o, kernel.OpenHow{
		Access: win32.FILE_WRITE_ATTRIBUTES | win32.FILE_READ_ATTRIBUTES | win32.DELETE, Share: shareAll,
		Disposition: win32.FILE_CREATE, Options: win32.FILE_DIRECTORY_FILE | win32.FILE_OPEN_REPARSE_POINT,
	})
	if errdefs.HasCode(err, win32.ERROR_ALREADY_EXISTS, win32.ERROR_FILE_EXISTS) {
		return sameLink(o, pl, link)
	}
	if err != nil {
		return errdefs.Wrapf(withoutParent(link, err), "making the link %s", link.at)
	}
	made := &leaf{Handle: h}
	point := win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_SYMLINK, SubstituteName: link.substitute, PrintName: link.print}
	if _, err := h.DeviceIoControl(win32.FSCTL_SET_REPARSE_POINT, point.Bytes(), nil); err != nil {
		_ = made.remove() // leave nothing half-done; a failure here leaves an empty directory
		return failedLink(link, err)
	}
	return nil
}

// linkPossible fails as makeLink would, as far as that can be known beforehand, and changes nothing.
func (o *op) linkPossible(link directoryLink) error {
	pl, err := o.locate(link.at, walk{})
	if err != nil {
		return withoutParent(link, err)
	}
	defer pl.close()
	if err := sameLink(o, pl, link); !errdefs.IsMissing(err) {
		return err
	}
	if o.node.lacks(createSymbolicLink) {
		return failedLink(link, win32.ERROR_PRIVILEGE_NOT_HELD)
	}
	return nil
}

// failedLink explains why Windows refuses to make a directory a link.
func failedLink(link directoryLink, err error) error {
	if errdefs.HasCode(err, win32.ERROR_PRIVILEGE_NOT_HELD) {
		return errdefs.Wrapf(err, "making the link %s: the agent's account needs the user right \"Create symbolic links\"",
			link.at)
	}
	return errdefs.Wrapf(err, "making the link %s", link.at)
}

// withoutParent explains the failure to find the directory of a link.
func withoutParent(link directoryLink, err error) error {
	if errdefs.IsMissing(err) {
		return errdefs.NotFound.Wrapf(err, reason.PathNotFound,
			"the parent directory of %s is not there; make it with Mkdir first", link.at)
	}
	return err
}

// sameLink returns nil if the object in the link's place is that link already.
func sameLink(o *op, pl *place, link directoryLink) error {
	l, err := pl.open(o, 0)
	if err != nil {
		return errdefs.Wrapf(err, "looking at %s", link.at)
	}
	if l.reparse != nil && l.reparse.Tag == win32.IO_REPARSE_TAG_SYMLINK {
		if target, err := targetOf(l.reparse); err == nil && link.same(target) {
			return nil
		}
	}
	return errdefs.AlreadyExists.Errorf(reason.PathExists,
		"%s already exists and is not a link to %s; remove it with Rmdir first", link.at, link.print)
}
