// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"errors"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// Stat describes the object at a path; a link or mount point is not followed.
type Stat struct {
	Attributes uint32
	Reparse    *win32.ReparsePoint // nil: not a reparse point
}

// IsDirectory reports whether it is a directory or a link to one.
func (s Stat) IsDirectory() bool { return s.Attributes&win32.FILE_ATTRIBUTE_DIRECTORY != 0 }

// IsPlainDirectory reports whether it is a directory and no link.
func (s Stat) IsPlainDirectory() bool { return s.Reparse == nil && s.IsDirectory() }

// IsFile reports whether it is a file and no link.
func (s Stat) IsFile() bool { return s.Reparse == nil && !s.IsDirectory() }

// MountedVolume returns the volume that is mounted there, even if it is gone.
func (s Stat) MountedVolume() (id winpath.VolumeID, ok bool) {
	if s.Reparse == nil {
		return winpath.VolumeID{}, false
	}
	target, err := TargetOf(s.Reparse)
	if err != nil || target.Kind != winpath.TargetVolume || len(target.Rest) > 0 {
		return winpath.VolumeID{}, false
	}
	return target.Volume, true
}

// Share returns where a link to a share leads.
func (s Stat) Share() (share winpath.UNC, ok bool) {
	if s.Reparse == nil {
		return winpath.UNC{}, false
	}
	target, err := TargetOf(s.Reparse)
	return target.UNC, err == nil && target.Kind == winpath.TargetUNC
}

// File is an open file, directory or link, never what it leads to. Its location closes the handle.
type File struct {
	kernel.Handle
	Stat
}

// Exists reports whether anything is at a path; a link or mount point counts, wherever it leads.
func (fs *FS) Exists(path winpath.Path) (bool, error) {
	root, rest, err := fs.checkDirs(path)
	if err != nil {
		return false, err
	}
	if len(rest) > 0 {
		switch err := fs.kernel.QueryAttributes(path.Extended()); {
		case err == nil:
			return true, nil
		case errdefs.HasCode(err, win32.ERROR_FILE_NOT_FOUND):
			return false, nil
		}
	}
	// what the object's own list may not allow, its directory's does
	loc, _, err := fs.walkTo(path, root, rest, Walk{}, kernel.OpenOptions{Asynchronous: true})
	if errdefs.IsMissing(err) {
		return false, nil
	}
	if err == nil {
		loc.Close()
	}
	return err == nil, err
}

// Stat examines the object at a path.
func (fs *FS) Stat(path winpath.Path) (Stat, error) { return fs.stat(path, Walk{}) }

func (fs *FS) stat(path winpath.Path, w Walk) (Stat, error) {
	loc, l, err := fs.OpenAt(path, w, 0)
	if err != nil {
		return Stat{}, err
	}
	loc.Close()
	return l.Stat, nil
}

// LookAt examines the object that a handle is open on.
func LookAt(h kernel.Handle) (*File, error) {
	var buffer [win32.SizeofFileBasic]byte
	if err := h.Information(win32.FileBasicInfo, buffer[:]); err != nil {
		return nil, err
	}
	basic, err := win32.ParseFileBasic(buffer[:])
	if err != nil {
		return nil, err
	}
	reparse, err := reparseData(h, basic.Attributes)
	if err != nil {
		return nil, err
	}
	return &File{Handle: h, Stat: Stat{Attributes: basic.Attributes, Reparse: reparse}}, nil
}

// lookWithoutRights is LookAt by a handle that may not read attributes: of these, it tells a directory.
func lookWithoutRights(h kernel.Handle) (*File, error) {
	var buffer [win32.SizeofFileStandard]byte
	if err := h.Information(win32.FileStandardInfo, buffer[:]); err != nil {
		return nil, err
	}
	f := &File{Handle: h}
	directory, err := win32.ParseFileStandard(buffer[:])
	if directory {
		f.Attributes = win32.FILE_ATTRIBUTE_DIRECTORY
	}
	if err == nil {
		f.Reparse, err = ReadReparsePoint(h)
	}
	if errdefs.HasCode(err, win32.ERROR_INVALID_FUNCTION, win32.ERROR_NOT_SUPPORTED) {
		err = nil // there is none on such a file system
	}
	return f, err
}

// reparseData reads what a reparse point is. File systems without any, FAT and exFAT, do not know the information
// class.
// https://github.com/microsoft/STL/issues/2373
func reparseData(h kernel.Handle, attributes uint32) (*win32.ReparsePoint, error) {
	if attributes&win32.FILE_ATTRIBUTE_REPARSE_POINT == 0 {
		return nil, nil //nolint:nilnil // not a reparse point is an answer
	}
	var buffer [8]byte
	if err := h.Information(win32.FileAttributeTagInfo, buffer[:]); err != nil {
		return nil, err
	}
	tag, err := win32.ParseFileAttributeTag(buffer[:])
	if err != nil || tag.Attributes&win32.FILE_ATTRIBUTE_REPARSE_POINT == 0 { // removed after it was seen
		return nil, err
	}
	if tag.ReparseTag != win32.IO_REPARSE_TAG_MOUNT_POINT && tag.ReparseTag != win32.IO_REPARSE_TAG_SYMLINK {
		return &win32.ReparsePoint{Tag: tag.ReparseTag}, nil
	}
	return ReadReparsePoint(h)
}

// ReadReparsePoint reads what a link or mount point is, nil if there is none any more.
func ReadReparsePoint(h kernel.Handle) (*win32.ReparsePoint, error) {
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

// TargetOf reads where a link or mount point leads.
func TargetOf(reparse *win32.ReparsePoint) (winpath.Target, error) {
	if reparse.Tag != win32.IO_REPARSE_TAG_MOUNT_POINT && reparse.Tag != win32.IO_REPARSE_TAG_SYMLINK {
		return winpath.Target{}, errForeignTag
	}
	return winpath.ParseSubstituteName(reparse.SubstituteName)
}
