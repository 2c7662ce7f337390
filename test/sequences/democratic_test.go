// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// democratic is the part of democratic-csi's node service that begins with the disk of an iSCSI target: it makes a
// partition if the disk has no volume.
type democratic struct{ disk uint32 }

// volume returns the one volume of the disk, or "".
func (d democratic) volume(c *calls) (string, error) {
	volumes, err := c.ListVolumesOnDisk(d.disk)
	if err != nil || len(volumes) == 0 {
		return "", err
	}
	if len(volumes) > 1 {
		return "", errors.New("no way to know which is the volume")
	}
	return volumes[0], nil
}

func (d democratic) Stage(c *calls, staging string) error {
	if _, err := c.ListVolumesOnDisk(d.disk); err != nil {
		return err
	}
	id, err := d.volume(c)
	if err == nil && id == "" {
		if err = c.PartitionDisk(d.disk); err == nil {
			id, err = d.volume(c)
		}
	}
	if err != nil {
		return err
	}
	if id == "" {
		return errors.New("no volume is found")
	}
	formatted, err := c.IsVolumeFormatted(id)
	if err == nil && !formatted {
		err = c.FormatVolume(id)
	}
	if err != nil {
		return err
	}
	exists, err := c.PathExists(staging)
	if err == nil && !exists {
		err = c.Mkdir(staging)
	}
	if err != nil {
		return err
	}
	return c.MountVolume(id, staging)
}

// Unstage removes the directory without force, and takes Windows' sentence for success.
func (d democratic) Unstage(c *calls, staging string) error {
	id, err := d.volume(c)
	if err == nil && id != "" {
		if err = c.WriteVolumeCache(id); err == nil {
			err = c.UnmountVolume(id, staging)
		}
	}
	if err != nil {
		return err
	}
	err = c.Rmdir(staging, false)
	if err != nil && strings.Contains(status.Convert(err).Message(), "The system cannot find the file specified") {
		return nil
	}
	return err
}

// TestDisksWithoutVolumes: a disk is raw, raw and offline, or its volume is late. A driver that gets an error, as for
// an offline disk with a partition, leaves the disk alone. How the other drivers meet such disks is in their lives.
func TestDisksWithoutVolumes(t *testing.T) {
	const number = 1
	driver := democratic{number}
	for name, late := range map[string]bool{"raw": false, "raw and offline": false, "late": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := caller.Switched(t, func(s *scenario.Switches) { s.VolumesArriveLate = late })
			c := newCalls(t, n.Node, nil)
			n.SetDiskOnline(number, name != "raw and offline")
			for range 2 {
				n.OK(driver.Stage(c, staging))
				id, err := c.GetVolumeIDFromTargetPath(staging)
				n.OK(err)
				if formatted, err := c.IsVolumeFormatted(id); err != nil || !formatted {
					t.Errorf("the volume is formatted: %t, %v", formatted, err)
				}
				n.OK(driver.Unstage(c, staging))
				n.OK(driver.Unstage(c, staging))
				n.OK(c.SetDiskState(number, true))
			}
			n.SetDiskOnline(number, false)
			n.Code(driver.Stage(c, staging), codes.FailedPrecondition)
		})
	}
}
