// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// leaf is the object that a path names, opened as itself: a link or mount point is not followed.
type leaf struct {
	kernel.Handle
	attributes uint32
	reparse    *win32.ReparsePoint // nil: not a reparse point
}

func (l *leaf) isDirectory() bool { return l.attributes&win32.FILE_ATTRIBUTE_DIRECTORY != 0 }

func (l *leaf) isPlainDirectory() bool { return l.reparse == nil && l.isDirectory() }

// mountedVolume returns the volume that is mounted at the leaf, gone or not.
func (l *leaf) mountedVolume() (id winpath.VolumeID, ok bool) {
	if l.reparse == nil {
		return winpath.VolumeID{}, false
	}
	target, err := targetOf(l.reparse)
	if err != nil || target.Kind != winpath.TargetVolume || len(target.Rest) > 0 {
		return winpath.VolumeID{}, false
	}
	return target.Volume, true
}

const shareAll = win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE | win32.FILE_SHARE_DELETE

// openLeaf opens the last component of the place with further access rights.
func (pl *place) openLeaf(o *op, access uint32) (*leaf, error) {
	return pl.openLeafShared(o, access, shareAll)
}

func (pl *place) openLeafShared(o *op, access, share uint32) (*leaf, error) {
	if pl.name == "" {
		return openedLeaf(unowned{pl.dir})
	}
	return openChild(o, pl.dir, pl.name, access, share)
}

// openChild opens one entry of a directory as itself.
func openChild(o *op, dir kernel.Handle, name string, access, share uint32) (*leaf, error) {
	var l *leaf
	err := o.whileShared(func() error {
		h, err := o.k.OpenFile(dir, name, kernel.OpenHow{
			Access: access | win32.FILE_READ_ATTRIBUTES, Share: share,
			Disposition: win32.FILE_OPEN, Options: win32.FILE_OPEN_REPARSE_POINT,
		})
		if err != nil {
			return err
		}
		l, err = openedLeaf(h)
		return err
	})
	return l, err
}

func openedLeaf(h kernel.Handle) (*leaf, error) {
	l := &leaf{Handle: h}
	tag, err := attributeTag(h)
	if err == nil {
		l.attributes = tag.Attributes
		l.reparse, err = reparseData(h, tag)
	}
	if err != nil {
		_ = h.Close()
		return nil, err
	}
	return l, nil
}

// unowned is a handle that its borrower must not close.
type unowned struct{ kernel.Handle }

func (unowned) Close() error { return nil }

// owned is a handle whose borrower closes the whole place.
type owned struct {
	kernel.Handle
	place *place
}

func (h owned) Close() error {
	h.place.close()
	return nil
}

func attributeTag(h kernel.Handle) (win32.FileAttributeTag, error) {
	var buffer [8]byte
	if err := h.Information(win32.FileAttributeTagInfo, buffer[:]); err != nil {
		return win32.FileAttributeTag{}, err
	}
	return win32.ParseFileAttributeTag(buffer[:])
}

// reparsePoint reads what kind of reparse point a handle is open on; nil: none.
func reparsePoint(h kernel.Handle) (*win32.ReparsePoint, error) {
	tag, err := attributeTag(h)
	if err != nil {
		return nil, err
	}
	return reparseData(h, tag)
}

func reparseData(h kernel.Handle, tag win32.FileAttributeTag) (*win32.ReparsePoint, error) {
	if tag.Attributes&win32.FILE_ATTRIBUTE_REPARSE_POINT == 0 {
		return nil, nil //nolint:nilnil // not a reparse point is an answer
	}
	if tag.ReparseTag != win32.IO_REPARSE_TAG_MOUNT_POINT && tag.ReparseTag != win32.IO_REPARSE_TAG_SYMLINK {
		return &win32.ReparsePoint{Tag: tag.ReparseTag}, nil
	}
	buffer := make([]byte, win32.MAXIMUM_REPARSE_DATA_BUFFER_SIZE)
	n, err := h.DeviceIoControl(win32.FSCTL_GET_REPARSE_POINT, nil, buffer)
	if hasCode(err, win32.ERROR_NOT_A_REPARSE_POINT) {
		return nil, nil //nolint:nilnil // it was taken away since the attributes were read
	}
	if err != nil {
		return nil, err
	}
	point, err := win32.ParseReparsePoint(buffer[:n])
	return &point, err
}

var errForeignTag = errors.New("it is neither a symbolic link nor a mount point")

// targetOf reads where a link or mount point leads.
func targetOf(reparse *win32.ReparsePoint) (winpath.Target, error) {
	switch {
	case reparse.Tag != win32.IO_REPARSE_TAG_MOUNT_POINT && reparse.Tag != win32.IO_REPARSE_TAG_SYMLINK:
		return winpath.Target{}, errForeignTag
	default:
		return winpath.ParseSubstituteName(reparse.SubstituteName)
	}
}
