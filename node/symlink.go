// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// CreateSymlink makes a directory link at targetPath that leads to sourcePath, the reverse of Win32's names. The
// source may be missing, but not be a file. The same link there already is success; anything else there is
// AlreadyExists. The link's parent directory has to exist.
func (f *Filesystem) CreateSymlink(ctx context.Context, sourcePath, targetPath string) error {
	source, err := f.paths.parse(sourcePath, winpath.Options{})
	if err != nil {
		return err
	}
	link, err := f.paths.parse(targetPath, winpath.Options{})
	if err != nil {
		return err
	}
	if err := f.paths.notWorkingDir(source, "linked to"); err != nil {
		return err
	}
	if err := f.paths.notWorkingDir(link, "made a link"); err != nil {
		return err
	}
	j := job{
		what:  fmt.Sprintf("CreateSymlink(%s, %s)", source, link),
		key:   "CreateSymlink " + source.String() + " " + link.Key(),
		locks: []string{pathLock(link)},
	}
	_, err = change(ctx, f.calls, j, func(o *op) (done, error) { return done{}, f.createSymlink(o, source, link) })
	return err
}

func (f *Filesystem) createSymlink(o *op, source, link winpath.Path) error {
	if err := f.linkable(o, source); err != nil {
		return err
	}
	pl, err := f.paths.locate(o, link, walk{})
	if missing(err) {
		return &Error{Class: NotFound, Reason: ReasonPathNotFound, Err: err, Message: fmt.Sprintf("the parent directory of %s is not there", link)}
	}
	if err != nil {
		return err
	}
	defer pl.close()
	h, err := o.k.OpenFile(pl.dir, pl.name, kernel.OpenHow{
		Access: win32.FILE_WRITE_ATTRIBUTES | win32.FILE_READ_ATTRIBUTES | win32.DELETE, Share: shareAll,
		Disposition: win32.FILE_CREATE, Options: win32.FILE_DIRECTORY_FILE | win32.FILE_OPEN_REPARSE_POINT,
	})
	if hasCode(err, win32.ERROR_ALREADY_EXISTS, win32.ERROR_FILE_EXISTS) {
		return f.sameLink(o, pl, source, link)
	}
	if err != nil {
		return fail(err, "making the link %s", link)
	}
	made := &leaf{Handle: h}
	defer made.Close()
	point := win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_SYMLINK, SubstituteName: `\??\` + source.String(), PrintName: source.String()}
	if _, err := h.DeviceIoControl(win32.FSCTL_SET_REPARSE_POINT, point.Bytes(), nil); err != nil {
		_ = made.remove() // leave nothing half-done; a failure here leaves an empty directory
		return fail(err, "making the link %s", link)
	}
	return nil
}

// linkable refuses a file as the source of a directory link. A source that is not there yet is fine.
func (f *Filesystem) linkable(o *op, source winpath.Path) error {
	links := maxLinks
	l, err := f.paths.openAt(o, source, &links)
	if missing(err) {
		return nil
	}
	if err != nil {
		return fail(err, "looking at the link's source %s", source)
	}
	defer l.Close()
	if l.reparse == nil && !l.isDirectory() {
		return errorf(FailedPrecondition, ReasonNotADir, "%s is a file; links are made to directories only", source)
	}
	return nil
}

// sameLink tells whether what stands in the link's place is that link already.
func (f *Filesystem) sameLink(o *op, pl *place, source, link winpath.Path) error {
	l, err := pl.openLeaf(o, 0)
	if err != nil {
		return fail(err, "looking at %s", link)
	}
	defer l.Close()
	if l.reparse != nil && l.reparse.Tag == win32.IO_REPARSE_TAG_SYMLINK {
		if target, err := targetOf(l.reparse); err == nil && target.Kind == winpath.TargetLocal && target.Path.Equal(source) {
			return nil
		}
	}
	return errorf(AlreadyExists, "PATH_EXISTS", "%s is there already and is not a link to %s; remove it with Rmdir first", link, source)
}
