// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// extend is FSCTL_EXTEND_VOLUME: the file system grows to a number of sectors, which must fit in the partition.
func (v *volume) extend(in []byte) error {
	sectors, err := parsed(win32.ParseExtendVolume(in))
	if err != nil {
		return err
	}
	if v.knownLength() < v.length {
		return win32.ERROR_INVALID_PARAMETER
	}
	d := v.disk
	// Which control codes want this privilege of the caller is documented for none of them but FSCTL_SET_REPARSE_POINT.
	if err := d.node.privileged(manageVolume, win32.ERROR_ACCESS_DENIED); err != nil {
		return err
	}
	switch {
	case d.writable() != nil:
		return d.writable()
	case !v.formatted():
		return nil // a raw volume is as large as its partition
	case v.boot.fileSystem != "NTFS":
		return win32.ERROR_INVALID_FUNCTION
	}
	if !d.node.state.Switches.ExtendOneSectorLess {
		sectors-- // for the backup boot sector
	}
	return v.extendTo(sectors)
}

// extendTo makes an NTFS so many sectors large, without the backup boot sector.
func (v *volume) extendTo(sectors int64) error {
	d := v.disk
	room := v.length/d.sectorSize() - 1
	cluster := int64(v.boot.clusterBytes / v.boot.bytesPerSector)
	if sectors > room || sectors-int64(v.boot.sectors) < cluster {
		return win32.ERROR_INVALID_PARAMETER
	}
	blocks, err := v.grownNTFS(sectors)
	if err != nil {
		return err
	}
	return d.commit(change{Blocks: blocks})
}
