// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"errors"
	"strconv"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
)

// azureDisk is the Azure Disk driver on the pipes. It finds its disk by the LUN, never sets a disk's state, unmounts
// by removing the mount point, and resizes by disk number.
type azureDisk struct {
	lun string
}

// errAzureDiskNotGrown is how growing a volume in use always ends: before it resizes, the driver compares the file
// system's size with the wanted one.
var errAzureDiskNotGrown = errors.New("the file system has not grown yet")

func (d azureDisk) findDevice(c *calls) (uint32, error) {
	if err := c.Rescan(); err != nil {
		return 0, err
	}
	locations, err := c.ListDiskLocations()
	if err != nil {
		return 0, err
	}
	return diskWhere(locations, func(l *diskapi.DiskLocation) bool { return l.GetLUNID() == d.lun })
}

func (d azureDisk) Stage(c *calls, staging string) error {
	number, err := d.findDevice(c)
	if err != nil {
		return err
	}
	if mounted, err := stillMounted(c, staging, d.unmount); err != nil || mounted {
		return err
	}
	if err := formatAndMount(c, number, withDrive(staging), false); err != nil {
		return err
	}
	return c.resize(strconv.FormatUint(uint64(number), 10))
}

// stillMounted checks, as Azure Disk and vSphere do, whether a stage has been done already; a mount that cannot be read
// is removed.
func stillMounted(c *calls, staging string, unmount func(*calls, string) error) (bool, error) {
	exists, err := c.PathExists(withDrive(staging))
	if err != nil || !exists {
		return false, err
	}
	if mounted, err := c.IsSymlink(withDrive(staging)); err != nil || !mounted {
		return false, err
	}
	if err := c.osReadDir(staging); err != nil {
		return false, unmount(c, staging)
	}
	return true, nil
}

func (d azureDisk) Publish(c *calls, staging, publish string) error {
	if err := c.removeIfThere(withDrive(publish)); err != nil {
		return err
	}
	if exists, err := c.PathExists(withDrive(publish)); err != nil || exists {
		return errors.Join(err, errors.New("the publish path is not free"))
	}
	return c.CreateSymlink(withDrive(staging), withDrive(publish))
}

func (d azureDisk) Stats(c *calls, publish string) (total, used int64, err error) {
	return c.statsAt(publish)
}

func (d azureDisk) Expand(c *calls, publish string, sizeBytes int64) error {
	id, err := c.GetVolumeIDFromTargetPath(withDrive(publish))
	if err != nil {
		return err
	}
	total, _, err := c.GetVolumeStats(id)
	if err != nil {
		return err
	}
	const gib = 1 << 30
	if (total+gib-1)/gib < (sizeBytes+gib-1)/gib {
		return errAzureDiskNotGrown
	}
	if err := c.resize(id); err != nil {
		return err
	}
	_, _, err = c.GetVolumeStats(id)
	return err
}

func (d azureDisk) Unpublish(c *calls, publish string) error { return c.rmdir(withDrive(publish)) }

func (d azureDisk) Unstage(c *calls, staging string) error { return d.unmount(c, staging) }

// unmount removes the live mount point; earlier failures are only warnings.
func (d azureDisk) unmount(c *calls, staging string) error {
	if id, err := c.GetVolumeIDFromTargetPath(staging); err == nil {
		_ = c.WriteVolumeCache(id)
	}
	return c.rmdir(withDrive(staging))
}
