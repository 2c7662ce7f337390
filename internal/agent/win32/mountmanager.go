// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"math"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// ParseMountdevName decodes a MOUNTDEV_NAME, the output of IOCTL_MOUNTDEV_QUERY_DEVICE_NAME: \Device\HarddiskVolume1.
// The name lasts until a reboot.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/mountmgr/ns-mountmgr-_mountdev_name
func ParseMountdevName(in []byte) (string, error) {
	const structure = "MOUNTDEV_NAME"
	b, err := cstruct.Need(structure, in, offsetMountdevName)
	if err != nil {
		return "", err
	}
	return cstruct.NameAt(structure, b, offsetMountdevName, b.U16(0)) // NameLength
}

// MountPoint is MOUNTMGR_MOUNT_POINT without the unique id. In a request, what is empty is not asked by. Its names are
// the object manager's.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/mountmgr/ns-mountmgr-_mountmgr_mount_point
type MountPoint struct {
	Link   string // the volume's name \??\Volume{GUID}, or its drive letter \DosDevices\C:
	Device string // \Device\HarddiskVolume1
}

// Sizes and offsets in bytes.
const (
	SizeofMountPoint   = 24 // MOUNTMGR_MOUNT_POINT, without the names
	offsetMountPoints  = 8  // MOUNTMGR_MOUNT_POINTS.MountPoints
	offsetMountdevName = 2  // MOUNTDEV_NAME.Name
)

// Bytes encodes a MOUNTMGR_MOUNT_POINT with its names behind it. It returns nil if they are too long for it.
func (p MountPoint) Bytes() []byte {
	link, device := cstruct.EncodeUTF16(p.Link), cstruct.EncodeUTF16(p.Device)
	b := append(append(make(cstruct.Buffer, SizeofMountPoint), link...), device...)
	if len(b) > math.MaxUint16 {
		return nil
	}
	b.PutU32(0, SizeofMountPoint)                    // SymbolicLinkNameOffset
	b.PutU16(4, uint16(len(link)))                   // SymbolicLinkNameLength
	b.PutU32(16, uint32(SizeofMountPoint+len(link))) // DeviceNameOffset
	b.PutU16(20, uint16(len(device)))                // DeviceNameLength
	return b
}

// MountPointAt decodes the MOUNTMGR_MOUNT_POINT at an offset of a structure, from whose beginning its names count.
func MountPointAt(structure string, b cstruct.Buffer, at int) (p MountPoint, err error) {
	point := b[at : at+SizeofMountPoint]
	if p.Link, err = cstruct.NameAt(structure, b, point.U32(0), point.U16(4)); err != nil { // SymbolicLinkNameOffset
		return p, err
	}
	p.Device, err = cstruct.NameAt(structure, b, point.U32(16), point.U16(20)) // DeviceNameOffset
	return p, err
}

// ParseMountPoints decodes a MOUNTMGR_MOUNT_POINTS, the output of IOCTL_MOUNTMGR_QUERY_POINTS.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/mountmgr/ni-mountmgr-ioctl_mountmgr_query_points
func ParseMountPoints(in []byte) ([]MountPoint, error) {
	const structure = "MOUNTMGR_MOUNT_POINTS"
	b, err := cstruct.Need(structure, in, offsetMountPoints)
	if err != nil {
		return nil, err
	}
	count := b.U32(4) // NumberOfMountPoints
	if fit := (len(b) - offsetMountPoints) / SizeofMountPoint; int64(count) > int64(fit) {
		return nil, cstruct.Malformed(structure, "%d mount points in a buffer for %d", count, fit)
	}
	points := make([]MountPoint, count)
	for i := range points {
		if points[i], err = MountPointAt(structure, b, offsetMountPoints+i*SizeofMountPoint); err != nil {
			return nil, err
		}
	}
	return points, nil
}

// VolumeMountPoint is MOUNTMGR_VOLUME_MOUNT_POINT. Its names are the object manager's, without a separator at the end.
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
