// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"math"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// VolumeMountPoint is MOUNTMGR_VOLUME_MOUNT_POINT. The names are those of the object manager, without a separator at
// the end.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/mountmgr/ns-mountmgr-_mountmgr_volume_mount_point
type VolumeMountPoint struct {
	Path   string // of the mount point: \DosDevices\C:\dir
	Volume string // \??\Volume{GUID}
}

// SizeofVolumeMountPoint is the size of a MOUNTMGR_VOLUME_MOUNT_POINT in bytes, without the names.
const SizeofVolumeMountPoint = 8

// Bytes encodes a MOUNTMGR_VOLUME_MOUNT_POINT with its names behind it. It returns nil if they are too long for it.
func (p VolumeMountPoint) Bytes() []byte {
	path, volume := cstruct.EncodeUTF16(p.Path), cstruct.EncodeUTF16(p.Volume)
	b := append(append(make(cstruct.Buffer, SizeofVolumeMountPoint), path...), volume...)
	if len(b) > math.MaxUint16 {
		return nil
	}
	b.PutU16(0, SizeofVolumeMountPoint)                   // SourceVolumeNameOffset
	b.PutU16(2, uint16(len(path)))                        // SourceVolumeNameLength
	b.PutU16(4, uint16(SizeofVolumeMountPoint+len(path))) // TargetVolumeNameOffset
	b.PutU16(6, uint16(len(volume)))                      // TargetVolumeNameLength
	return b
}
