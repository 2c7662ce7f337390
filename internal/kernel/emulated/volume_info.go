// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"strings"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// VolumeInformation implements kernel.Volumes.
func (n *Node) VolumeInformation(root string) (fileSystem string, err error) {
	return called(n, "GetVolumeInformationW", root, func() (string, error) {
		v, err := n.rootVolume(root)
		if err != nil {
			return "", err
		}
		return v.boot.fileSystem, v.mounted()
	})
}

// rootVolume returns the volume of a root directory: a volume name, a drive, or a mount point. A missing one is
// ERROR_FILE_NOT_FOUND by volume name and ERROR_PATH_NOT_FOUND by drive.
func (n *Node) rootVolume(root string) (*volume, error) {
	if id, ok := parseVolumeName(root); ok {
		return n.volumeWith(id)
	}
	p, err := mountPoint(root)
	if err != nil {
		return nil, err
	}
	if len(p.names) == 0 {
		return n.volumeOf(p)
	}
	at, err := n.resolve(p, true)
	if err != nil {
		return nil, err
	}
	defer at.close()
	if at.dir != nil {
		return nil, win32.ERROR_DIR_NOT_ROOT // as OpenJDK's WindowsFileStore knows it from Windows
	}
	return n.volumeOf(ntPath{volume: at.content.id})
}

// DiskFreeSpace implements kernel.Volumes. Like GetDiskFreeSpaceExW it accepts any directory.
func (n *Node) DiskFreeSpace(root string) (total, free uint64, err error) {
	err = n.call("GetDiskFreeSpaceExW", root, func() error {
		v, err := n.volumeOfDirectory(root)
		if err == nil {
			total, free, err = n.space(v, nil)
		}
		return err
	})
	return total, free, err
}

func (n *Node) volumeOfDirectory(path string) (*volume, error) {
	if id, ok := parseVolumeName(path); ok {
		return n.volumeWith(id) // space checks whether it is mounted
	}
	p, err := parseWin32(path)
	if err != nil {
		return nil, err
	}
	at, err := n.resolve(p, true)
	if err != nil {
		return nil, err
	}
	defer at.close()
	switch {
	case at.dir != nil && at.entry == nil:
		return nil, win32.ERROR_FILE_NOT_FOUND
	case at.dir != nil && !at.entry.isDir():
		return nil, win32.ERROR_DIRECTORY
	}
	return n.volumeOf(ntPath{volume: at.content.id})
}

// space returns the size of a file system and its free space: all but its metadata and the clusters of its files. Owner
// may have locked the volume.
func (n *Node) space(v *volume, owner *volumeHandle) (total, free uint64, err error) {
	c, err := n.content(v, owner)
	if err != nil {
		return 0, 0, err
	}
	used, err := c.fileBytes(uint64(v.boot.clusterBytes))
	used += v.boot.metadataBytes()
	total = v.sizeBytes()
	return total, total - min(used, total), err
}

// FormatVolume implements kernel.Volumes. A volume in use is dismounted first, as with Force.
func (n *Node) FormatVolume(volumeName, fileSystem string) error {
	return n.call("MSFT_Volume.Format", volumeName, func() error { return n.format(volumeName, fileSystem) })
}

func (n *Node) format(name, fileSystem string) error {
	if !strings.EqualFold(fileSystem, "NTFS") {
		return win32.ERROR_INVALID_PARAMETER
	}
	id, ok := parseVolumeName(name)
	if !ok {
		return win32.ERROR_INVALID_PARAMETER
	}
	v, err := n.volumeWith(id)
	if err != nil {
		return err
	}
	if err := v.disk.noticed(); err != nil {
		return err
	}
	if v.offline() {
		return win32.ERROR_NOT_READY
	}
	d, opens := v.disk, v.disk.open[id]
	if d.record.System || opens != nil && opens.locked != nil {
		return win32.ERROR_ACCESS_DENIED
	}
	n.dismount(id)
	if err := d.writable(); err != nil {
		return err
	}
	if v.length < minVolumeBytes {
		return win32.ERROR_INVALID_PARAMETER
	}
	return d.commit(change{Blocks: newNTFS(d.sectorSize(), v.offset, v.length), Empty: []guid.GUID{id}})
}
