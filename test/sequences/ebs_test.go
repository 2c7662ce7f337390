// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"errors"
	"regexp"
	"strings"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// ebs is the AWS EBS driver. It finds its disk by the serial number, which contains the volume's id without the dash.
type ebs struct {
	volumeID string // vol-…
}

// ebsNothingMounted is the pattern by which the driver reads "nothing is mounted" from an error text.
var ebsNothingMounted = regexp.MustCompile(
	`(Get-Item -Path \S+).Target, output: , error: <nil>|because it does not exist`)

// findDevice opens a new client each time.
func (d ebs) findDevice(c *calls) (uint32, error) {
	if err := c.dialDisk(); err != nil {
		return 0, err
	}
	ids, err := c.ListDiskIDs()
	if err != nil {
		return 0, err
	}
	return diskWhere(ids, func(id *diskapi.DiskIDs) bool {
		return strings.Contains(id.GetSerialNumber(), strings.ReplaceAll(d.volumeID, "-", ""))
	})
}

// deviceAt returns the disk that is mounted at a path, if any.
func (d ebs) deviceAt(c *calls, path string) (number uint32, mounted bool, err error) {
	id, err := c.GetVolumeIDFromTargetPath(withDrive(path))
	if err == nil {
		number, err = c.GetDiskNumberFromVolumeID(id)
	}
	if err != nil && ebsNothingMounted.MatchString(err.Error()) {
		return 0, false, nil
	}
	return number, err == nil, err
}

func (d ebs) Stage(c *calls, staging string) error {
	number, err := d.findDevice(c)
	if err != nil {
		return err
	}
	exists, err := c.PathExists(withDrive(staging))
	if err != nil {
		return err
	}
	if !exists {
		if err := c.Mkdir(withDrive(staging)); err != nil {
			return err
		}
	}
	at, mounted, err := d.deviceAt(c, staging)
	if err != nil {
		return err
	}
	if mounted && at == number {
		return nil
	}
	if err := formatAndMount(c, number, withDrive(staging), true); err != nil {
		return err
	}
	need, err := d.needResize(c, number, staging)
	if err != nil || !need {
		return err
	}
	return d.resize(c, staging)
}

// needResize is inverted in the driver: it is true when the disk is not larger than the file system.
func (d ebs) needResize(c *calls, number uint32, staging string) (bool, error) {
	_ = c.Rescan() // only logged
	device, err := c.GetDiskStats(number)
	if err != nil {
		return false, err
	}
	fileSystem, _, err := c.statsAt(withDrive(staging))
	return device <= fileSystem+4096, err
}

func (d ebs) resize(c *calls, path string) error {
	_ = c.Rescan() // only logged
	return c.resizeAt(withDrive(path))
}

func (d ebs) Publish(c *calls, staging, publish string) error {
	if err := c.removeIfThere(withDrive(publish)); err != nil {
		return err
	}
	exists, err := c.PathExists(withDrive(publish))
	if err != nil {
		return err
	}
	if exists {
		if mounted, err := c.IsSymlink(withDrive(publish)); err != nil || mounted {
			return err
		}
	}
	return c.CreateSymlink(withDrive(staging), withDrive(publish))
}

// Stats asks the operating system of the container after one call.
func (d ebs) Stats(c *calls, publish string) (total, used int64, err error) {
	exists, err := c.PathExists(withDrive(publish))
	if err != nil {
		return 0, 0, err
	}
	if !exists {
		return 0, 0, errors.New("the publish path does not exist")
	}
	return 0, 0, c.osStatfs(publish)
}

func (d ebs) Expand(c *calls, publish string, _ int64) error {
	if _, mounted, err := d.deviceAt(c, publish); err != nil {
		return err
	} else if !mounted {
		return errors.New("nothing is mounted at the publish path")
	}
	number, err := d.findDevice(c)
	if err != nil {
		return err
	}
	if err := d.resize(c, publish); err != nil {
		return err
	}
	_, err = c.GetDiskStats(number)
	return err
}

func (d ebs) Unpublish(c *calls, publish string) error { return c.rmdir(withDrive(publish)) }

func (d ebs) Unstage(c *calls, staging string) error {
	if _, mounted, err := d.deviceAt(c, staging); err != nil || !mounted {
		return err
	}
	id, err := c.GetVolumeIDFromTargetPath(withDrive(staging))
	if err != nil {
		return err
	}
	return unmountAndTakeOffline(c, id, withDrive(staging))
}

// formatAndMount is common to the three disk drivers; Azure Disk does not set the state. They do not check that the
// list of volumes is not empty, so the agent must never return an empty one.
func formatAndMount(c *calls, number uint32, path string, setOnline bool) error {
	if err := c.PartitionDisk(number); err != nil {
		return err
	}
	if setOnline {
		if err := c.SetDiskState(number, true); err != nil {
			return err
		}
	}
	volumes, err := c.ListVolumesOnDisk(number)
	if err != nil {
		return err
	}
	id := volumes[0]
	formatted, err := c.IsVolumeFormatted(id)
	if err != nil {
		return err
	}
	if !formatted {
		if err := c.FormatVolume(id); err != nil {
			return err
		}
	}
	return c.MountVolume(id, path)
}

var errNoSuchDisk = errors.New("no disk is the volume's")

// diskWhere returns the disk of which something holds.
func diskWhere[V any](disks map[uint32]V, holds func(V) bool) (uint32, error) {
	for number, known := range disks {
		if holds(known) {
			return number, nil
		}
	}
	return 0, errNoSuchDisk
}

// unstageIfThere is unstaging in GCP and vSphere, where a missing directory is a volume that is not staged.
func unstageIfThere(c *calls, path string) (there bool, err error) {
	there, err = c.PathExists(path)
	if err != nil || !there {
		return there, err
	}
	id, err := c.GetVolumeIDFromTargetPath(path)
	if caller.Reason(err) == reason.NotMounted { // an error of these drivers until the volume is staged again
		return true, errStuck
	}
	if err != nil {
		return true, err
	}
	return true, unmountAndTakeOffline(c, id, path)
}

// unmountAndTakeOffline is the end of unstaging in EBS, GCP and vSphere.
func unmountAndTakeOffline(c *calls, id, path string) error {
	if err := c.UnmountVolume(id, path); err != nil {
		return err
	}
	if err := c.rmdir(path); err != nil {
		return err
	}
	number, err := c.GetDiskNumberFromVolumeID(id)
	if err != nil {
		return err
	}
	return c.SetDiskState(number, false)
}
