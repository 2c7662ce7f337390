// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// MakeDirectory opens the directory at the location, made if need be. It refuses a file, and returns a link as such.
func (loc *Location) MakeDirectory() (*File, error) {
	if loc.name == "" {
		return loc.Open(0)
	}
	access, share := loc.pinning(OpenDirectory)
	how := kernel.OpenOptions{
		Access: access, Share: share,
		Disposition: win32.FILE_OPEN_IF, Options: win32.FILE_DIRECTORY_FILE | win32.FILE_OPEN_REPARSE_POINT,
	}
	h, err := loc.open(how)
	if errdefs.HasCode(err, win32.ERROR_DIRECTORY, win32.ERROR_ALREADY_EXISTS) {
		return nil, errdefs.FailedPrecondition.WrapErrorf(err, reason.NotADirectory,
			"%s is a file, not a directory", loc.Path)
	}
	if err != nil {
		return nil, errdefs.Errorf(err, "making the directory %s", loc.Path)
	}
	l, err := LookAt(h)
	return l, errdefs.Errorf(err, "looking at the directory %s", loc.Path)
}

// remove deletes the open object: an empty directory, a file, or a link itself. The name is free once the handle is
// closed, even while others have the object open; on file systems without that ability, such as FAT and many servers,
// once all of them have closed it. The handle needs win32.DELETE and, to remove a read-only object on such a file
// system, win32.FILE_WRITE_ATTRIBUTES.
//
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddk/ns-ntddk-_file_disposition_information_ex
func (l *File) remove() error {
	err := l.SetInformation(win32.FileDispositionInfoEx, win32.FileDispositionEx(
		win32.FILE_DISPOSITION_FLAG_DELETE|win32.FILE_DISPOSITION_FLAG_POSIX_SEMANTICS|
			win32.FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE))
	if errdefs.HasCode(err, win32.ERROR_INVALID_PARAMETER, win32.ERROR_NOT_SUPPORTED, win32.ERROR_INVALID_FUNCTION,
		win32.ERROR_INVALID_LEVEL) {
		return l.removePlainly()
	}
	return err
}

// removePlainly is remove without POSIX semantics. An object that cannot be removed keeps its attributes.
func (l *File) removePlainly() error {
	if l.Attributes&win32.FILE_ATTRIBUTE_READONLY != 0 {
		if err := l.setAttributes(l.Attributes &^ win32.FILE_ATTRIBUTE_READONLY); err != nil {
			return err
		}
	}
	err := l.SetInformation(win32.FileDispositionInfo, win32.FileDisposition(true))
	if err != nil && l.Attributes&win32.FILE_ATTRIBUTE_READONLY != 0 {
		_ = l.setAttributes(l.Attributes) // the caller needs the first error: why it was not removed
	}
	return err
}

func (l *File) setAttributes(attributes uint32) error {
	if attributes == 0 { // 0 would leave them unchanged (FILE_BASIC_INFO)
		attributes = win32.FILE_ATTRIBUTE_NORMAL
	}
	return l.SetInformation(win32.FileBasicInfo, win32.FileBasic{Attributes: attributes}.Bytes())
}
