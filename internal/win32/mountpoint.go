// SPDX-License-Identifier: Apache-2.0

package win32

import "math"

// VolumeMountPoint is MOUNTMGR_VOLUME_MOUNT_POINT. The names are those of the object manager, without a separator at
// the end.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/mountmgr/ns-mountmgr-_mountmgr_volume_mount_point
type VolumeMountPoint struct {
	Path   string // of the mount point: \DosDevices\C:\dir
	Volume string // \??\Volume{GUID}
}

const sizeofVolumeMountPoint = 8

// Bytes encodes a MOUNTMGR_VOLUME_MOUNT_POINT with its names behind it. It returns nil if they are too long for it.
func (p VolumeMountPoint) Bytes() []byte {
	path, volume := encodeUTF16(p.Path), encodeUTF16(p.Volume)
	b := append(append(make(buffer, sizeofVolumeMountPoint), path...), volume...)
	if len(b) > math.MaxUint16 {
		return nil
	}
	b.putU16(0, sizeofVolumeMountPoint)                   // SourceVolumeNameOffset
	b.putU16(2, uint16(len(path)))                        // SourceVolumeNameLength
	b.putU16(4, uint16(sizeofVolumeMountPoint+len(path))) // TargetVolumeNameOffset
	b.putU16(6, uint16(len(volume)))                      // TargetVolumeNameLength
	return b
}

// ParseVolumeMountPoint decodes the input of IOCTL_MOUNTMGR_VOLUME_MOUNT_POINT_DELETED.
func ParseVolumeMountPoint(in []byte) (p VolumeMountPoint, err error) {
	const structure = "MOUNTMGR_VOLUME_MOUNT_POINT"
	b, err := need(structure, in, sizeofVolumeMountPoint)
	if err != nil {
		return p, err
	}
	if p.Path, err = nameAt(structure, b, b.u16(0), b.u16(2)); err != nil { // SourceVolumeNameOffset
		return p, err
	}
	p.Volume, err = nameAt(structure, b, b.u16(4), b.u16(6)) // TargetVolumeNameOffset
	return p, err
}
