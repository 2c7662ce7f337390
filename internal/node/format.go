// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// FormatVolume makes an NTFS file system on a blank volume: quick, with the default cluster size and no label. A volume
// that already has NTFS is left alone. A volume that holds anything else, known to Windows or not, is refused.
func (v *Volumes) FormatVolume(ctx context.Context, volumeID string) error {
	id, err := parseVolumeID(volumeID)
	if err != nil {
		return err
	}
	return v.node.change(ctx, on("FormatVolume", volumeObject(id)), func(o *op) error { return o.formatVolume(id) })
}

func (o *op) formatVolume(id winpath.VolumeID) error {
	fileSystem, err := o.fileSystem(id)
	if err != nil {
		return err
	}
	if err := o.sparesVolume(id, "formatted"); err != nil {
		return err
	}
	switch {
	case fileSystem == "NTFS":
		return nil
	case fileSystem != "":
		return errorf(FailedPrecondition, reason.VolumeNotBlank, "volume %s already holds a %s file system, which is not overwritten", id, fileSystem)
	}
	found, err := o.volumeContent(id)
	if err != nil {
		return fail(err, "looking at what volume %s holds", id)
	}
	if found != "" {
		return errorf(FailedPrecondition, reason.VolumeNotBlank,
			"volume %s is not blank: it holds %s; it is left as it is, so that nothing is lost. Clear the volume if its content is not needed", id, found)
	}
	if err := o.format(id); err != nil {
		return fail(err, "formatting volume %s", id)
	}
	return nil
}

// volumeContent names the content of the beginning or the end of a volume, or returns "" when both are zero.
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
	return contentOf(h, []span{{0, probeLength}, {length.Length - probeLength, length.Length}}, length.Length)
}
