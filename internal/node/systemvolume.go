// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"slices"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// systemVolumeCache remembers the volume that Windows runs from, which cannot change while Windows is running.
type systemVolumeCache struct {
	mu    sync.Mutex
	known bool
	id    winpath.VolumeID
}

func (c *systemVolumeCache) get() (id winpath.VolumeID, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id, c.known
}

func (c *systemVolumeCache) set(id winpath.VolumeID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id, c.known = id, true
}

// systemVolume returns the volume that Windows runs from.
func (o *op) systemVolume() (winpath.VolumeID, error) {
	if id, known := o.node.system.get(); known {
		return id, nil
	}
	directory, err := o.k.SystemWindowsDirectory()
	if err != nil {
		return winpath.VolumeID{}, fail(err, "asking which drive Windows runs from")
	}
	if len(directory) < 3 {
		return winpath.VolumeID{}, fmt.Errorf("the system directory is %q", directory)
	}
	name, err := o.k.VolumeNameForMountPoint(directory[:3])
	if err != nil {
		return winpath.VolumeID{}, fail(err, "asking for the volume of drive %s", directory[:3])
	}
	id, err := winpath.ParseVolumeID(name)
	if err != nil {
		return winpath.VolumeID{}, err
	}
	o.node.system.set(id)
	return id, nil
}

// isSystemDisk reports whether Windows runs from the disk.
func (o *op) isSystemDisk(number uint32) (bool, error) {
	id, err := o.systemVolume()
	if err != nil {
		return false, err
	}
	extents, err := o.volumeExtents(id)
	if err != nil {
		return false, err
	}
	return slices.Contains(extents.disks(), number), nil
}

// belongsToWindows reports whether Windows runs from a volume or boots from it. Windows boots from those volumes of the
// system disk that are not on basic data partitions, above all that of the EFI system partition.
func (o *op) belongsToWindows(id winpath.VolumeID) (bool, error) {
	extents, err := o.volumeExtents(id)
	if err != nil {
		return false, err
	}
	if system, err := o.systemVolume(); err != nil || system == id {
		return err == nil, err
	}
	for _, extent := range extents {
		if system, err := o.isSystemDisk(extent.DiskNumber); err != nil {
			return false, err
		} else if !system {
			continue
		}
		d, err := o.openDisk(extent.DiskNumber, 0)
		if err != nil {
			return false, err
		}
		_, partition, err := d.partitionAt(extent.StartingOffset)
		_ = d.Close()
		if err != nil || !isDataPartition(partition) {
			return err == nil, err
		}
	}
	return false, nil
}
