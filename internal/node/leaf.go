// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"

	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// stat describes the object at a path; a link or mount point is not followed.
type stat struct {
	attributes uint32
	reparse    *win32.ReparsePoint // nil: not a reparse point
}

func (s stat) isDirectory() bool { return s.attributes&win32.FILE_ATTRIBUTE_DIRECTORY != 0 }

func (s stat) isPlainDirectory() bool { return s.reparse == nil && s.isDirectory() }

func (s stat) isFile() bool { return s.reparse == nil && !s.isDirectory() }

// mountedVolume returns the volume that is mounted there, even if it is gone.
func (s stat) mountedVolume() (id winpath.VolumeID, ok bool) {
	if s.reparse == nil {
		return winpath.VolumeID{}, false
	}
	target, err := targetOf(s.reparse)
	if err != nil || target.Kind != winpath.TargetVolume || len(target.Rest) > 0 {
		return winpath.VolumeID{}, false
	}
	return target.Volume, true
}

// share returns where a link to a share leads.
func (s stat) share() (target winpath.Target, ok bool) {
	if s.reparse == nil {
		return winpath.Target{}, false
	}
	target, err := targetOf(s.reparse)
	return target, err == nil && target.Kind == winpath.TargetUNC
}

// leaf is the open object at a place, never what it leads to. The place closes its handle.
type leaf struct {
	kernel.Handle
	stat
}

// stat examines the object at a path.
func (o *op) stat(path winpath.Path, links *int) (stat, error) {
	pl, h, err := o.lookUp(path, links)
	if err != nil {
		return stat{}, err
	}
	defer pl.close()
	l, err := lookAt(h)
	if err != nil {
		return stat{}, err
	}
	return l.stat, nil
}

// lookAt examines the object that a handle is open on.
func lookAt(h kernel.Handle) (*leaf, error) {
	tag, err := attributeTag(h)
	if err != nil {
		return nil, err
	}
	reparse, err := reparseData(h, tag)
	if err != nil {
		return nil, err
	}
	return &leaf{Handle: h, stat: stat{attributes: tag.Attributes, reparse: reparse}}, nil
}

func attributeTag(h kernel.Handle) (win32.FileAttributeTag, error) {
	var buffer [8]byte
	if err := h.Information(win32.FileAttributeTagInfo, buffer[:]); err != nil {
		return win32.FileAttributeTag{}, err
	}
	return win32.ParseFileAttributeTag(buffer[:])
}

func reparseData(h kernel.Handle, tag win32.FileAttributeTag) (*win32.ReparsePoint, error) {
	if tag.Attributes&win32.FILE_ATTRIBUTE_REPARSE_POINT == 0 {
		return nil, nil //nolint:nilnil // not a reparse point is an answer
	}
	if tag.ReparseTag != win32.IO_REPARSE_TAG_MOUNT_POINT && tag.ReparseTag != win32.IO_REPARSE_TAG_SYMLINK {
		return &win32.ReparsePoint{Tag: tag.ReparseTag}, nil
	}
	return reparsePoint(h)
}

// reparsePoint reads what a link or mount point is, nil if there is none any more.
func reparsePoint(h kernel.Handle) (*win32.ReparsePoint, error) {
	buffer := make([]byte, win32.MAXIMUM_REPARSE_DATA_BUFFER_SIZE)
	n, err := h.DeviceIoControl(win32.FSCTL_GET_REPARSE_POINT, nil, buffer)
	if errdefs.HasCode(err, win32.ERROR_NOT_A_REPARSE_POINT) {
		return nil, nil //nolint:nilnil // it was removed after it was seen
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
	if reparse.Tag != win32.IO_REPARSE_TAG_MOUNT_POINT && reparse.Tag != win32.IO_REPARSE_TAG_SYMLINK {
		return winpath.Target{}, errForeignTag
	}
	return winpath.ParseSubstituteName(reparse.SubstituteName)
}
