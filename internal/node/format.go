// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
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
	return v.node.change(ctx, on("FormatVolume", volumeObject(id)), func(o *op) error { return o.formatVolume(id) })
}

// A volume that is busy, with a scanner that looks at what has just arrived for example, is formatted at another attempt.
const (
	formatAttempts = 3
	formatPause    = 200 * time.Millisecond
)

// formatVolume looks at the volume again before each attempt: what made it busy may have written to it, and the attempt
// that failed may have formatted it.
func (o *op) formatVolume(id winpath.VolumeID) error {
	for attempt := 1; ; attempt++ {
		needed, err := o.formatNeeded(id)
		if err != nil || !needed {
			return err
		}
		err = o.k.FormatVolume(id.String(), "NTFS")
		if err == nil {
			return nil
		}
		if !hasCode(err, win32.ERROR_BUSY) || attempt == formatAttempts {
			return fail(err, "formatting volume %s", id)
		}
		klog.FromContext(o.ctx).Info("A volume is busy and not formatted yet", "volume", id, "attempt", attempt, "err", err)
		time.Sleep(formatPause)
	}
}

// formatNeeded reports whether a volume is to be formatted. It fails for one that must not be.
func (o *op) formatNeeded(id winpath.VolumeID) (bool, error) {
	fileSystem, err := o.fileSystem(id)
	if err != nil {
		return false, err
	}
	if err := o.sparesVolume(id, "formatted"); err != nil {
		return false, err
	}
	switch fileSystem {
	case "":
		return true, o.blankVolume(id)
	case "NTFS":
		return o.eraseNeeded(id)
	default:
		return false, errorf(FailedPrecondition, reason.VolumeNotBlank, "volume %s already holds a %s file system, which is not overwritten", id, fileSystem)
	}
}

// blankVolume refuses a volume that is not blank.
func (o *op) blankVolume(id winpath.VolumeID) error {
	found, err := o.volumeContent(id)
	if err != nil {
		return fail(err, "looking at what volume %s holds", id)
	}
	if found != "" {
		return errorf(FailedPrecondition, reason.VolumeNotBlank,
			"volume %s is not blank: it holds %s; it is left as it is, so that nothing is lost. If its content is not needed, overwrite all of it with zeros", id, found)
	}
	return nil
}

// volumeContent names the content of a volume, or returns "" when it is blank.
func (o *op) volumeContent(id winpath.VolumeID) (string, error) {
	h, err := o.k.OpenDevice(id.Device(), win32.GENERIC_READ)
	if err != nil {
		return "", err
	}
	defer h.Close()
	length, err := query(h, win32.IOCTL_DISK_GET_LENGTH_INFO, 8, win32.ParseLengthInformation)
	if err != nil {
		return "", err
	}
	return contentOf(h, volumeObject(id), probesOf(length.Length))
}
