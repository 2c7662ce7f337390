// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"errors"
	"fmt"
	"strings"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
)

// gcp is the GCP persistent disk driver. It finds its disk by the last word of page 83, and in several calls passes
// paths as kubelet gives them.
type gcp struct {
	deviceName string
	sizeBytes  int64 // from the publish context
}

// crash marks where the driver's process would end with a nil pointer: it looks at the reply before the error.
func (d gcp) crash(err error) error {
	return fmt.Errorf("the driver crashes on a failed GetDiskStats: %w", err)
}

func (d gcp) findDevice(c *calls) (uint32, error) {
	ids, err := c.ListDiskIDs()
	if err != nil {
		return 0, err
	}
	return diskWhere(ids, func(id *diskapi.DiskIDs) bool {
		words := strings.Fields(id.GetPage83())
		return len(words) > 0 && words[len(words)-1] == d.deviceName
	})
}

// mounted takes any error, above all that the path is missing, for "not mounted".
func (d gcp) mounted(c *calls, path string) bool {
	mounted, err := c.IsSymlink(path)
	return err == nil && mounted
}

func (d gcp) Stage(c *calls, staging string) error {
	number, err := d.findDevice(c)
	if err != nil {
		return err
	}
	if d.mounted(c, staging) {
		return nil
	}
	size, err := c.GetDiskStats(number)
	if err != nil {
		return d.crash(err)
	}
	if size != d.sizeBytes {
		return fmt.Errorf("the disk has %d bytes, not %d", size, d.sizeBytes)
	}
	if err := formatAndMount(c, number, staging, true); err != nil {
		return err
	}
	return c.resizeAt(staging)
}

func (d gcp) Publish(c *calls, staging, publish string) error {
	if d.mounted(c, publish) {
		return nil
	}
	if err := c.removeIfThere(withDrive(publish)); err != nil {
		return err
	}
	if err := d.link(c, staging, publish); err != nil {
		return errors.Join(err, d.cleanUp(c, publish))
	}
	return nil
}

func (d gcp) link(c *calls, staging, publish string) error {
	if err := c.osMkdirAll(parent(publish)); err != nil {
		return err
	}
	return c.CreateSymlink(withDrive(staging), withDrive(publish))
}

// cleanUp follows a failed link.
func (d gcp) cleanUp(c *calls, publish string) error {
	mounted, err := c.IsSymlink(publish)
	if err != nil {
		return err
	}
	if mounted {
		if err := c.rmdir(withDrive(publish)); err != nil {
			return err
		}
		if mounted, err = c.IsSymlink(publish); err != nil || mounted {
			return errors.New("the publish path is still mounted")
		}
	}
	_ = c.osRemove(publish) // only logged
	return nil
}

func (d gcp) Stats(c *calls, publish string) (total, used int64, err error) {
	if err := c.osLstat(publish); err != nil {
		return 0, 0, err
	}
	return c.statsAt(publish)
}

func (d gcp) Expand(c *calls, publish string, sizeBytes int64) error {
	number, err := d.findDevice(c)
	if err != nil {
		return err
	}
	if err := c.resizeAt(publish); err != nil {
		return err
	}
	size, err := c.GetDiskStats(number)
	if err != nil {
		return d.crash(err)
	}
	if size < sizeBytes {
		return fmt.Errorf("the disk has %d bytes after growing to %d", size, sizeBytes)
	}
	return nil
}

func (d gcp) Unpublish(c *calls, publish string) error { return c.rmdir(withDrive(publish)) }

func (d gcp) Unstage(c *calls, staging string) error {
	there, err := unstageIfThere(c, withDrive(staging))
	if there && err == nil {
		_, _ = d.findDevice(c) // whether the disk is in use; failures are ignored
	}
	return err
}
