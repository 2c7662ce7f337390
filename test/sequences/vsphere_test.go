// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"fmt"
	"strings"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
)

// vsphere is the vSphere driver. It finds its disk by comparing page 83 with the disk's id.
type vsphere struct {
	diskID string
}

// vsphereMachine is the driver on a machine of vSphere, whose UUID is the node's name to its node service.
type vsphereMachine struct {
	vsphere
	machine string
}

// Register makes the UUID of the serial number in the firmware, which VMware writes as "VMware-" and bytes in
// hexadecimal with blanks and one dash between them.
func (d vsphereMachine) Register(c *calls) error {
	serial, err := c.GetBIOSSerialNumber()
	if err != nil {
		return err
	}
	hex, ok := strings.CutPrefix(serial, "VMware-")
	hex = strings.ToLower(strings.NewReplacer(" ", "", "-", "").Replace(hex))
	if !ok || len(hex) != 32 {
		return fmt.Errorf("the serial number %q is not VMware's", serial)
	}
	uuid := fmt.Sprintf("%s-%s-%s-%s-%s", hex[:8], hex[8:12], hex[12:16], hex[16:20], hex[20:])
	if uuid != d.machine {
		return fmt.Errorf("this is the machine %s, not %s", uuid, d.machine)
	}
	return nil
}

func (d vsphere) findDevice(c *calls) (uint32, error) {
	ids, err := c.ListDiskIDs()
	if err != nil {
		return 0, err
	}
	return diskWhere(ids, func(id *diskapi.DiskIDs) bool { return id.GetPage83() == d.diskID })
}

func (d vsphere) Stage(c *calls, staging string) error {
	number, err := d.findDevice(c)
	if err != nil {
		return err
	}
	if mounted, err := stillMounted(c, staging, d.Unstage); err != nil || mounted {
		return err
	}
	return formatAndMount(c, number, withDrive(staging), true)
}

func (d vsphere) Publish(c *calls, staging, publish string) error {
	if err := c.removeIfThere(withDrive(publish)); err != nil {
		return err
	}
	if err := c.Mkdir(withDrive(parent(publish))); err != nil {
		return err
	}
	return c.CreateSymlink(withDrive(staging), withDrive(publish))
}

func (d vsphere) Stats(c *calls, publish string) (total, used int64, err error) {
	return c.statsAt(withDrive(publish))
}

func (d vsphere) Expand(c *calls, publish string, _ int64) error {
	id, err := c.GetVolumeIDFromTargetPath(withDrive(publish))
	if err != nil {
		return err
	}
	number, err := c.GetDiskNumberFromVolumeID(id)
	if err != nil {
		return err
	}
	if err := c.SetDiskState(number, true); err != nil {
		return err
	}
	return c.resize(id)
}

func (d vsphere) Unpublish(c *calls, publish string) error { return c.rmdir(withDrive(publish)) }

func (d vsphere) Unstage(c *calls, staging string) error {
	_, err := unstageIfThere(c, withDrive(staging))
	return err
}
