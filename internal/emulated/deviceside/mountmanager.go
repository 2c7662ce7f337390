// SPDX-License-Identifier: Apache-2.0

package deviceside

import (
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// MountdevName encodes a MOUNTDEV_NAME.
func MountdevName(name string) []byte {
	text := cstruct.EncodeUTF16(name)
	b := append(make(cstruct.Buffer, 2), text...)
	b.PutU16(0, uint16(len(text))) // NameLength
	return b
}

// MountPoints encodes a MOUNTMGR_MOUNT_POINTS, with the names behind the structures.
func MountPoints(points []win32.MountPoint) []byte {
	const offsetPoints = 8 // MountPoints
	b := make(cstruct.Buffer, offsetPoints+len(points)*win32.SizeofMountPoint)
	for i, p := range points {
		one := cstruct.Buffer(p.Bytes())
		behind := uint32(len(b) - win32.SizeofMountPoint)
		one.PutU32(0, one.U32(0)+behind)   // SymbolicLinkNameOffset
		one.PutU32(16, one.U32(16)+behind) // DeviceNameOffset
		copy(b[offsetPoints+i*win32.SizeofMountPoint:], one[:win32.SizeofMountPoint])
		b = append(b, one[win32.SizeofMountPoint:]...)
	}
	b.PutU32(0, uint32(len(b)))      // Size
	b.PutU32(4, uint32(len(points))) // NumberOfMountPoints
	return b
}
