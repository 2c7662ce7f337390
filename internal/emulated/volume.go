// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ntpath"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ondisk"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

// volume is a snapshot of a volume: the partition's place and the file system in it. Values never change; a change of
// the disk makes new ones.
type volume struct {
	disk *disk
	win32.Partition
	boot ondisk.BootSector
}

// formatted reports whether Windows would mount the volume.
func (v *volume) formatted() bool { return v.boot.FileSystem != "" }

// name returns the volume name: \\?\Volume{GUID}\.
func (v *volume) name() string { return ntpath.VolumeName(v.ID) }

// sizeBytes returns the size of the file system, in whole clusters.
func (v *volume) sizeBytes() uint64 {
	return v.boot.Clusters() * uint64(v.boot.ClusterBytes)
}

// offline reports whether Windows left the volume offline at its arrival: automount is off, and nothing has brought it
// online or given it a drive letter or a mount point.
//
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddvol/ni-ntddvol-ioctl_volume_online
func (v *volume) offline() bool {
	n := v.disk.node
	return n.state.Switches.AutomountOff && !v.disk.record.System && !n.online[v.ID] &&
		len(n.state.pathNames(v.ID)) == 0
}

// arrivalTime is how long a volume takes to arrive or to learn its length with the switch VolumesArriveLate.
const arrivalTime = 100 * time.Millisecond

// lateness is until when a volume has the length that it had before; 0: it is not there.
type lateness struct {
	until  time.Time
	length int64
}

// knownLength returns the length as the volume knows it.
func (v *volume) knownLength() int64 {
	if late := v.disk.late[v.ID]; time.Now().Before(late.until) {
		return late.length
	}
	return v.Length
}

// arrived reports whether the volume is there.
func (v *volume) arrived() bool { return v.knownLength() > 0 }

// mounted returns nil, or Windows' error for a volume without the file system that a call needs.
func (v *volume) mounted() error {
	if v.offline() {
		return win32.ERROR_NOT_READY
	}
	if !v.formatted() {
		return win32.ERROR_UNRECOGNIZED_VOLUME
	}
	return nil
}

// readOnly reports whether writes to the volume fail with ERROR_WRITE_PROTECT.
func (v *volume) readOnly() bool { return v.disk.record.ReadOnly || v.disk.record.Protected }

// volumeNamed returns the volume of a name; anything else than a volume's name is ERROR_INVALID_PARAMETER.
func (all disks) volumeNamed(name string) (*volume, error) {
	id, ok := ntpath.ParseVolumeName(name)
	if !ok {
		return nil, win32.ERROR_INVALID_PARAMETER
	}
	return all.volumeWith(id)
}

// VolumeInformation implements kernel.Volumes, for volumes' names alone.
func (n *Node) VolumeInformation(volumeName string) (fileSystem string, err error) {
	defer n.call("GetVolumeInformationW", volumeName, &err)()
	v, err := n.disks.volumeNamed(volumeName)
	if err != nil {
		return "", err
	}
	return v.boot.FileSystem, v.mounted()
}

// DiskFreeSpace implements kernel.Volumes, for volumes' names alone.
func (n *Node) DiskFreeSpace(volumeName string) (total, free uint64, err error) {
	defer n.call("GetDiskFreeSpaceExW", volumeName, &err)()
	v, err := n.disks.volumeNamed(volumeName)
	if err != nil {
		return 0, 0, err
	}
	return v.space(nil)
}

// space returns the size of a file system and its free space: all but its metadata and the clusters of its files. Owner
// may have locked the volume.
func (v *volume) space(owner *volumeHandle) (total, free uint64, err error) {
	c, err := v.disk.node.content(v, owner)
	if err != nil {
		return 0, 0, err
	}
	used, err := c.fileBytes(uint64(v.boot.ClusterBytes))
	used += v.boot.MetadataBytes()
	total = v.sizeBytes()
	return total, total - min(used, total), err
}

// FormatVolume implements kernel.Volumes. A volume in use is dismounted first, as with Force.
func (n *Node) FormatVolume(volumeName, fileSystem string) (err error) {
	const minVolumeBytes = 1 << 20 // of the smallest volume that is formatted
	defer n.call("MSFT_Volume.Format", volumeName, &err)()
	if !strings.EqualFold(fileSystem, "NTFS") {
		return win32.ERROR_INVALID_PARAMETER
	}
	v, err := n.disks.volumeNamed(volumeName)
	if err != nil {
		return err
	}
	if v.offline() {
		return win32.ERROR_NOT_READY
	}
	d := v.disk
	if d.record.System || v.lockedBy() != nil {
		return win32.ERROR_ACCESS_DENIED
	}
	n.contents.dismount(v.ID)
	if err := d.writable(); err != nil {
		return err
	}
	if v.Length < minVolumeBytes {
		return win32.ERROR_INVALID_PARAMETER
	}
	if err := d.image.Empty(v.ID); err != nil {
		return err
	}
	return d.write(ondisk.NewNTFS(d.sectorSize(), v.StartingOffset, v.Length))
}

// extend is FSCTL_EXTEND_VOLUME: the file system grows to a number of sectors, which must fit in the partition.
func (v *volume) extend(sectors int64) error {
	if v.knownLength() < v.Length {
		return win32.ERROR_INVALID_PARAMETER
	}
	d := v.disk
	// Which control codes want this privilege of the caller is documented for none of them but FSCTL_SET_REPARSE_POINT.
	if !d.node.privileged(scenario.ManageVolume) {
		return win32.ERROR_ACCESS_DENIED
	}
	switch {
	case d.writable() != nil:
		return d.writable()
	case v.boot.FileSystem != "NTFS":
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
	room := v.Length/d.sectorSize() - 1
	cluster := int64(v.boot.ClusterBytes / v.boot.BytesPerSector)
	if sectors > room || sectors-int64(v.boot.Sectors) < cluster {
		return win32.ERROR_INVALID_PARAMETER
	}
	boot := make([]byte, d.sectorSize())
	if _, err := d.image.ReadAt(boot, v.StartingOffset); err != nil {
		return err
	}
	blocks, ok := ondisk.GrowNTFS(boot, v.StartingOffset, sectors)
	if !ok {
		return win32.ERROR_NOT_SUPPORTED
	}
	return d.write(blocks)
}
