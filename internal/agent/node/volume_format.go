// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	api "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// IsVolumeFormatted reports whether Windows recognises a file system on a volume. Only Windows' own "unrecognised"
// means no; a volume that is gone, locked or damaged is an error, because callers format on a no.
func (v *Volumes) IsVolumeFormatted(ctx context.Context,
	r *api.IsVolumeFormattedRequest) (*api.IsVolumeFormattedResponse, error) {
	return runOf(ctx, v.node, "IsVolumeFormatted", r.GetVolumeId(), parseVolumeID, operation.Volume,
		func(o *op, id winpath.VolumeID) (*api.IsVolumeFormattedResponse, error) {
			fileSystem, err := o.fileSystem(id)
			return &api.IsVolumeFormattedResponse{Formatted: fileSystem != ""}, err
		})
}

// FormatVolume makes an NTFS file system on a blank volume, as the proto says. With Config.EraseOnFormat, files are
// erased: a provisioner of local volumes empties a released one with this call, and success means that they are gone.
func (v *Volumes) FormatVolume(ctx context.Context, r *api.FormatVolumeRequest) (*api.FormatVolumeResponse, error) {
	return runOf(ctx, v.node, "FormatVolume", r.GetVolumeId(), parseVolumeID, operation.Volume,
		func(o *op, id winpath.VolumeID) (*api.FormatVolumeResponse, error) {
			return &api.FormatVolumeResponse{}, o.formatVolume(id, false)
		})
}

// formatVolume formats a volume. It retries while the volume is busy or unknown to the storage provider, which may also
// answer with failed (2, 4) or invalid parameter (5) then. It checks the volume before each attempt: a program may have
// written to it, and the attempt that failed may have formatted it. With keep, an NTFS stays as it is.
//
// https://github.com/pbatard/rufus/issues/386
func (o *op) formatVolume(id winpath.VolumeID, keep bool) error {
	var slow, fresh operation.Backoff
	for {
		needed, err := o.formatNeeded(id, keep)
		if err != nil || !needed {
			return err
		}
		if err = o.kernel.FormatVolume(id.String(), "NTFS"); err == nil {
			return nil
		}
		p, limit := &slow, formatTime
		early := errdefs.HasCode(err, win32.ERROR_GEN_FAILURE, win32.ERROR_INVALID_PARAMETER)
		if early {
			p, limit = &fresh, freshTime
		}
		unknown := early || errdefs.HasCode(err, kernel.StorageCacheOutOfDate, kernel.StorageNotInCache,
			kernel.StorageDiskOffline, win32.ERROR_WRITE_PROTECT)
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
		case !p.Wait(limit):
			return errdefs.Errorf(err, "formatting volume %s, which Windows did not do within %v", id, limit)
		}
		log := o.log()
		log.Info("A volume cannot be formatted yet", "volume", id, "err", err)
		if unknown {
			if err := o.kernel.UpdateStorageCache(); err != nil {
				log.Info("Windows' storage provider does not look for volumes again", "err", err)
			}
		}
	}
}

// formatNeeded reports whether a volume is to be formatted. It fails for one that must not be.
func (o *op) formatNeeded(id winpath.VolumeID, keep bool) (bool, error) {
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
	switch {
	case fileSystem == "NTFS" && keep:
		return false, nil
	case fileSystem == "NTFS":
		return o.eraseNeeded(id)
	case fileSystem == "":
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
			"volume %s already holds the file system %s, which is not overwritten", id, fileSystem)
	}
}

// volumeContent names the content of a volume, or returns "" when it is blank.
func (o *op) volumeContent(id winpath.VolumeID) (string, error) {
	h, err := o.kernel.OpenDevice(id.Device(), win32.GENERIC_READ)
	if err != nil {
		return "", err
	}
	defer h.Close()
	length, err := query(h, win32.IOCTL_DISK_GET_LENGTH_INFO, nil, 8, win32.ParseLengthInformation)
	if err != nil {
		return "", err
	}
	return contentOf(h, operation.Volume(id), probesOf(length))
}
