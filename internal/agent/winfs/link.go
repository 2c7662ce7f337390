// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"errors"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// DirectoryLink describes a symbolic link to a directory, which an operation is to make.
type DirectoryLink struct {
	At         winpath.Path
	Substitute string                    // where Windows goes: an NT path
	Print      string                    // what programs that read the link see
	Same       func(winpath.Target) bool // reports whether a link leads there already
}

// MakeLink makes the link in an existing directory. The same link there is success; anything else is AlreadyExists.
func (fs *FS) MakeLink(link DirectoryLink) error {
	loc, err := fs.Locate(link.At, Walk{})
	if err != nil {
		return withoutParent(link, err)
	}
	defer loc.Close()
	h, err := loc.open(kernel.OpenOptions{
		Access: win32.FILE_WRITE_ATTRIBUTES | win32.FILE_READ_ATTRIBUTES | win32.DELETE, Share: ShareAll,
		Disposition: win32.FILE_CREATE, Options: win32.FILE_DIRECTORY_FILE | win32.FILE_OPEN_REPARSE_POINT,
	})
	if errdefs.HasCode(err, win32.ERROR_ALREADY_EXISTS, win32.ERROR_FILE_EXISTS) {
		return sameLink(loc, link)
	}
	if err != nil {
		return errdefs.Errorf(withoutParent(link, err), "making the link %s", link.At)
	}
	made := &File{Handle: h}
	point := win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_SYMLINK, SubstituteName: link.Substitute, PrintName: link.Print}
	if _, err := h.DeviceIoControl(win32.FSCTL_SET_REPARSE_POINT, point.Bytes(), nil); err != nil {
		_ = made.remove() // leave nothing half-done; a failure here leaves an empty directory
		return failedLink(link, err)
	}
	return nil
}

// LinkPossible fails as MakeLink would, as far as that can be known beforehand, and changes nothing. Forbidden: the
// agent's account lacks the right to make links.
func (fs *FS) LinkPossible(link DirectoryLink, forbidden bool) error {
	loc, err := fs.Locate(link.At, Walk{})
	if err != nil {
		return withoutParent(link, err)
	}
	defer loc.Close()
	if err := sameLink(loc, link); !errdefs.IsMissing(err) {
		return err
	}
	if forbidden {
		return failedLink(link, win32.ERROR_PRIVILEGE_NOT_HELD)
	}
	return nil
}

// failedLink explains why Windows refuses to make a directory a link.
func failedLink(link DirectoryLink, err error) error {
	if errdefs.HasCode(err, win32.ERROR_PRIVILEGE_NOT_HELD) {
		return errdefs.Errorf(err, "making the link %s: the agent's account needs the user right \"Create symbolic links\"",
			link.At)
	}
	return errdefs.Errorf(err, "making the link %s", link.At)
}

// withoutParent explains the failure to find the directory of a link.
func withoutParent(link DirectoryLink, err error) error {
	if errdefs.IsMissing(err) && !errors.As(err, new(rootError)) {
		return errdefs.NotFound.WrapErrorf(err, reason.PathNotFound,
			"the parent directory of %s is not there; make it with Mkdir first", link.At)
	}
	return err
}

// sameLink returns nil if the object at the link's location is that link already.
func sameLink(loc *Location, link DirectoryLink) error {
	l, err := loc.Open(0)
	if err != nil {
		return errdefs.Errorf(err, "looking at %s", link.At)
	}
	if l.Reparse != nil && l.Reparse.Tag == win32.IO_REPARSE_TAG_SYMLINK {
		if target, err := TargetOf(l.Reparse); err == nil && link.Same(target) {
			return nil
		}
	}
	return errdefs.AlreadyExists.Errorf(reason.PathExists,
		"%s already exists and is not a link to %s; remove it with Rmdir first", link.At, link.Print)
}
