// SPDX-License-Identifier: Apache-2.0

package node

import (
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// eraseNeeded reports whether an NTFS volume holds files that are to be erased. Without leave to erase, files are an
// error: success would tell the caller that they are gone.
func (o *op) eraseNeeded(id winpath.VolumeID) (bool, error) {
	holds, err := o.holdsFiles(id)
	if err != nil {
		return false, errdefs.Errorf(err, "looking for files on volume %s", id)
	}
	if !holds {
		return false, nil
	}
	if !o.node.config.EraseOnFormat {
		return false, errdefs.FailedPrecondition.Errorf(reason.VolumeNotEmpty,
			"volume %s holds files, and FormatVolume erases none. Delete them if they are not needed; on nodes whose "+
				"provisioner erases released volumes with this call, run the agent with -erase-on-format", id)
	}
	return true, o.mayBeErased(id)
}

// mayBeErased refuses a volume that Windows does not lock: something on it is open, be it a page file. The lock ends
// here, because Windows formats in another process; what is opened after it loses its handles to the formatting.
//
// https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_lock_volume
func (o *op) mayBeErased(id winpath.VolumeID) error {
	h, err := o.kernel.OpenDevice(id.Device(), readWrite)
	if err != nil {
		return errdefs.Errorf(err, "opening volume %s to lock it", id)
	}
	defer h.Close()
	err = o.lockVolume(h)
	if errdefs.HasCode(err, win32.ERROR_ACCESS_DENIED, win32.ERROR_SHARING_VIOLATION) {
		return errdefs.FailedPrecondition.WrapErrorf(err, reason.VolumeInUse,
			"volume %s is not erased: something on it is open, such as a file of a running pod or a page file, so Windows "+
				"does not lock it (%s). End the program that uses it and try again", id, err)
	}
	return errdefs.Errorf(err, "locking volume %s to erase it", id)
}

// holdsFiles reports whether the root of a volume's file system has an entry that Windows does not make by itself.
func (o *op) holdsFiles(id winpath.VolumeID) (bool, error) {
	root, err := o.openToList(nil, id.String(), 0)
	if err != nil {
		return false, err
	}
	defer root.Close()
	return o.rootHoldsFiles(root)
}

func (o *op) rootHoldsFiles(root *winfs.File) (bool, error) {
	return root.Has(func(entry win32.DirectoryEntry) (bool, error) {
		if !isPlainDirectory(entry) {
			return true, nil
		}
		switch winpath.Fold(entry.Name) {
		case "system volume information":
			return false, nil
		case "$recycle.bin":
			return o.holdsDeletedFiles(root, entry.Name)
		}
		return true, nil
	})
}

// holdsDeletedFiles reports whether a recycle bin has more in it than a folder for each user, with its settings.
func (o *op) holdsDeletedFiles(root *winfs.File, name string) (bool, error) {
	return o.childHas(root, name, func(bin *winfs.File, user win32.DirectoryEntry) (bool, error) {
		if !isPlainDirectory(user) {
			return winpath.Fold(user.Name) != "desktop.ini", nil
		}
		return o.childHas(bin, user.Name, func(_ *winfs.File, file win32.DirectoryEntry) (bool, error) {
			return winpath.Fold(file.Name) != "desktop.ini", nil
		})
	})
}

// childHas reports whether a directory in a directory has an entry for which f is true.
func (o *op) childHas(parent *winfs.File, name string,
	f func(in *winfs.File, entry win32.DirectoryEntry) (bool, error)) (bool, error) {
	in, err := o.openToList(parent.Handle, name, 0)
	if err != nil {
		return false, err
	}
	defer in.Close()
	return in.Has(func(entry win32.DirectoryEntry) (bool, error) { return f(in, entry) })
}

// openToList opens a directory to be listed, and for further access; a link is not followed.
func (o *op) openToList(parent kernel.Handle, name string, access uint32) (*winfs.File, error) {
	h, err := o.kernel.OpenFile(parent, name, kernel.OpenOptions{
		Access: winfs.OpenContents | access, Share: winfs.ShareAll,
		Disposition: win32.FILE_OPEN, Options: win32.FILE_DIRECTORY_FILE | win32.FILE_OPEN_REPARSE_POINT,
	})
	return &winfs.File{Handle: h}, err
}

func isPlainDirectory(entry win32.DirectoryEntry) bool {
	const directory, reparse = win32.FILE_ATTRIBUTE_DIRECTORY, win32.FILE_ATTRIBUTE_REPARSE_POINT
	return entry.Attributes&(directory|reparse) == directory
}
