// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"strings"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// FormatVolume makes an NTFS file system on a blank volume: quick, with the default cluster size and no label. An empty
// NTFS is left alone. One that holds files is refused, or, with Config.EraseOnFormat, erased: a provisioner of local
// volumes empties a released volume with this call, and success must mean that the files are gone. A volume that holds
// anything else, known to Windows or not, is refused.
func (v *Volumes) FormatVolume(ctx context.Context, volumeID string) error {
	id, err := parseVolumeID(volumeID)
	if err != nil {
		return err
	}
	return v.node.change(ctx, operation.On("FormatVolume", operation.Volume(id)),
		func(o *op) error { return o.formatVolume(id) })
}

// formatVolume formats a volume at one of several attempts, while the volume is busy, with a scanner for example, or
// Windows' storage provider has not learned of it yet. It looks at the volume again before each: what made it busy may
// have written to it, and the attempt that failed may have formatted it.
func (o *op) formatVolume(id winpath.VolumeID) error {
	var p operation.Backoff
	for {
		needed, err := o.formatNeeded(id)
		if err != nil || !needed {
			return err
		}
		if err = o.Kernel.FormatVolume(id.String(), "NTFS"); err == nil {
			return nil
		}
		unknown := errdefs.HasCode(err, kernel.StorageCacheOutOfDate, kernel.StorageNotInCache, kernel.StorageDiskOffline,
			win32.ERROR_WRITE_PROTECT)
		if unknown {
			extents, lost := o.volumeExtents(id)
			if lost != nil {
				return lost
			}
			if refused := o.refuseUnwritable(id, extents.disks(), err); refused != nil {
				return refused
			}
		}
		switch {
		case !unknown && !errdefs.HasCode(err, win32.ERROR_BUSY):
			return errdefs.Errorf(err, "formatting volume %s", id)
		case !p.Wait(formatTime):
			return errdefs.Errorf(err, "formatting volume %s, which Windows did not do within %v", id, formatTime)
		}
		log := klog.FromContext(o.Context)
		log.Info("A volume cannot be formatted yet", "volume", id, "err", err)
		if unknown {
			if err := o.Kernel.UpdateStorageCache(); err != nil {
				log.Info("Windows' storage provider does not look for volumes again", "err", err)
			}
		}
	}
}

// formatNeeded reports whether a volume is to be formatted. It fails for one that must not be.
func (o *op) formatNeeded(id winpath.VolumeID) (bool, error) {
	fileSystem, err := o.fileSystem(id)
	if err != nil {
		return false, err
	}
	extents, err := o.volumeExtents(id)
	if err != nil {
		return false, err
	}
	if err := o.refuseSystemExtents(id, extents, "formatted"); err != nil {
		return false, err
	}
	switch fileSystem {
	case "NTFS":
		return o.eraseNeeded(id)
	case "":
		holds, err := o.volumeContent(id)
		if err != nil {
			return false, errdefs.Errorf(err, "looking at what volume %s holds", id)
		}
		if holds != "" {
			return false, errdefs.FailedPrecondition.Errorf(reason.VolumeNotBlank,
				"volume %s is not blank: it holds %s; it is left as it is, so that nothing is lost. If its content is not "+
					"needed, overwrite all of it with zeros", id, holds)
		}
		return true, nil
	default:
		return false, errdefs.FailedPrecondition.Errorf(reason.VolumeNotBlank,
			"volume %s already holds a %s file system, which is not overwritten", id, fileSystem)
	}
}

// volumeContent names the content of a volume, or returns "" when it is blank.
func (o *op) volumeContent(id winpath.VolumeID) (string, error) {
	h, err := o.Kernel.OpenDevice(id.Device(), win32.GENERIC_READ)
	if err != nil {
		return "", err
	}
	defer h.Close()
	length, err := query(h, win32.IOCTL_DISK_GET_LENGTH_INFO, 8, win32.ParseLengthInformation)
	if err != nil {
		return "", err
	}
	return contentOf(h, operation.Volume(id), probesOf(length.Length))
}

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
	if !o.node.eraseOnFormat {
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
	h, err := o.Kernel.OpenDevice(id.Device(), readWrite)
	if err != nil {
		return errdefs.Errorf(err, "opening volume %s to lock it", id)
	}
	defer h.Close()
	for {
		_, err := h.DeviceIoControl(win32.FSCTL_LOCK_VOLUME, nil, nil)
		if err == nil {
			return nil
		}
		if !errdefs.HasCode(err, win32.ERROR_ACCESS_DENIED, win32.ERROR_SHARING_VIOLATION) {
			return errdefs.Errorf(err, "locking volume %s to erase it", id)
		}
		if !o.WaitShared() {
			return errdefs.FailedPrecondition.WrapErrorf(err, reason.VolumeInUse,
				"volume %s is not erased: something on it is open, such as a file of a running pod or a page file, so Windows "+
					"does not lock it (%s). End the program that uses it and try again", id, err)
		}
	}
}

// holdsFiles reports whether the root of a volume's file system has an entry that Windows does not make by itself.
func (o *op) holdsFiles(id winpath.VolumeID) (bool, error) {
	h, err := o.Kernel.OpenFile(nil, id.String(), toList())
	if err != nil {
		return false, err
	}
	root := &winfs.File{Handle: h}
	defer root.Close()
	return o.rootHoldsFiles(root)
}

func (o *op) rootHoldsFiles(root *winfs.File) (bool, error) {
	return root.Has(func(entry win32.DirectoryEntry) (bool, error) {
		if !isPlainDirectory(entry) {
			return true, nil
		}
		switch {
		case strings.EqualFold(entry.Name, "System Volume Information"):
			return false, nil
		case strings.EqualFold(entry.Name, "$RECYCLE.BIN"):
			return o.holdsDeletedFiles(root, entry.Name)
		}
		return true, nil
	})
}

// holdsDeletedFiles reports whether the recycle bin of a volume has more in it than a folder for each user, with its
// settings.
func (o *op) holdsDeletedFiles(root *winfs.File, name string) (bool, error) {
	return o.childHas(root, name, func(bin *winfs.File, user win32.DirectoryEntry) (bool, error) {
		if !isPlainDirectory(user) {
			return !strings.EqualFold(user.Name, "desktop.ini"), nil
		}
		return o.childHas(bin, user.Name, func(_ *winfs.File, file win32.DirectoryEntry) (bool, error) {
			return !strings.EqualFold(file.Name, "desktop.ini"), nil
		})
	})
}

// childHas reports whether a directory in a directory has an entry for which f is true.
func (o *op) childHas(parent *winfs.File, name string,
	f func(in *winfs.File, entry win32.DirectoryEntry) (bool, error)) (bool, error) {
	h, err := o.Kernel.OpenFile(parent.Handle, name, toList())
	if err != nil {
		return false, err
	}
	in := &winfs.File{Handle: h}
	defer in.Close()
	return in.Has(func(entry win32.DirectoryEntry) (bool, error) { return f(in, entry) })
}

// toList is how a directory is opened to be listed; a link is not followed.
func toList() kernel.OpenOptions {
	return kernel.OpenOptions{
		Access: win32.FILE_LIST_DIRECTORY | win32.FILE_TRAVERSE, Share: winfs.ShareAll,
		Disposition: win32.FILE_OPEN, Options: win32.FILE_DIRECTORY_FILE | win32.FILE_OPEN_REPARSE_POINT,
	}
}

func isPlainDirectory(entry win32.DirectoryEntry) bool {
	const directory, reparse = win32.FILE_ATTRIBUTE_DIRECTORY, win32.FILE_ATTRIBUTE_REPARSE_POINT
	return entry.Attributes&(directory|reparse) == directory
}
