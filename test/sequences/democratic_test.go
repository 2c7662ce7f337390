// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// democratic is the part of democratic-csi's node service that begins with the disk of an iSCSI target: it makes a
// partition if the disk has no volume.
type democratic struct{ disk uint32 }

// volume returns the one volume of the disk, or "".
func (d democratic) volume(c *calls) (string, error) {
	volumes, err := c.volumesOnDisk(d.disk)
	if err != nil || len(volumes) == 0 {
		return "", err
	}
	if len(volumes) > 1 {
		return "", errors.New("no way to know which is the volume")
	}
	return volumes[0], nil
}

func (d democratic) Stage(c *calls, staging string) error {
	if _, err := c.volumesOnDisk(d.disk); err != nil {
		return err
	}
	id, err := d.volume(c)
	if err == nil && id == "" {
		if err = c.partitionDisk(d.disk); err == nil {
			id, err = d.volume(c)
		}
	}
	if err != nil {
		return err
	}
	if id == "" {
		return errors.New("no volume is found")
	}
	formatted, err := c.isFormatted(id)
	if err == nil && !formatted {
		err = c.format(id)
	}
	if err != nil {
		return err
	}
	exists, err := c.pathExists(staging)
	if err == nil && !exists {
		err = c.mkdir(staging)
	}
	if err != nil {
		return err
	}
	return c.mountVolume(id, staging)
}

// Unstage removes the directory without force, and takes Windows' sentence for success.
func (d democratic) Unstage(c *calls, staging string) error {
	id, err := d.volume(c)
	if err == nil && id != "" {
		if err = c.writeCache(id); err == nil {
			err = c.unmountVolume(id, staging)
		}
	}
	if err != nil {
		return err
	}
	_, err = call(c, c.filesystem.Rmdir, &filesystemapi.RmdirRequest{Path: staging})
	if err != nil && strings.Contains(status.Convert(err).Message(), "The system cannot find the file specified") {
		return nil
	}
	return err
}

// Each driver meets a disk without a volume: it is raw, raw and offline, offline with a partition, or its volume is
// late. Some of them end if they get an empty list, and one that gets an error leaves the disk alone.
func TestDisksWithoutVolumes(t *testing.T) {
	const disk = 1
	drivers := map[string]interface {
		Stage(c *calls, staging string) error
		Unstage(c *calls, staging string) error
	}{
		"EBS": ebs{"vol-0123456789abcdef1"}, "vSphere": vsphere{"60022480454d552d4449534b30303031"},
		"AzureDisk": azureDisk{"1"}, "democratic-csi": democratic{disk},
	}
	for name, driver := range drivers {
		start := func(t *testing.T, late bool) (*testnode.Node, *calls) {
			t.Parallel()
			n := caller.Switched(t, func(s *emulated.Switches) { s.VolumesArriveLate = late }).Node
			return n, newCalls(t, n, nil)
		}
		life := func(t *testing.T, c *calls) {
			t.Helper()
			for range 2 {
				caller.OK(t, driver.Stage(c, staging))
				id, err := c.volumeAt(withDrive(staging))
				caller.OK(t, err)
				if formatted, err := c.isFormatted(id); err != nil || !formatted {
					t.Errorf("the volume is formatted: %t, %v", formatted, err)
				}
				caller.OK(t, driver.Unstage(c, staging))
				caller.OK(t, driver.Unstage(c, staging))
				caller.OK(t, c.setDiskState(disk, true))
			}
		}
		for _, late := range []bool{false, true} {
			t.Run(name+map[bool]string{false: ", raw", true: ", late"}[late], func(t *testing.T) {
				_, c := start(t, late)
				life(t, c)
			})
		}
		t.Run(name+", raw and offline", func(t *testing.T) {
			n, c := start(t, false)
			caller.OK(t, n.Emulated.SetDiskOnline(disk, false))
			life(t, c)
		})
		t.Run(name+", offline", func(t *testing.T) {
			n, c := start(t, false)
			caller.OK(t, c.partitionDisk(disk))
			volumes, err := c.volumesOnDisk(disk)
			caller.OK(t, err)
			caller.OK(t, n.Emulated.SetDiskOnline(disk, false))
			err = driver.Stage(c, staging)
			setsNoState := name == "AzureDisk" || name == "democratic-csi"
			if setsNoState != (status.Code(err) == codes.FailedPrecondition) || !setsNoState && err != nil {
				t.Fatalf("staging ends with %v", err)
			}
			caller.OK(t, c.setDiskState(disk, true))
			again, err := c.volumesOnDisk(disk)
			if err != nil || len(again) != 1 || again[0] != volumes[0] {
				t.Errorf("the volumes are %q, %v, and were %q", again, err, volumes)
			}
		})
	}
}
