// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"errors"

	disk "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v2alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v2alpha1"
)

// loadClients are one driver's connections.
type loadClients struct {
	disk       *disk.Client
	filesystem *filesystem.Client
	volume     *volume.Client
}

func (p *loadNode) dial() (*loadClients, error) {
	c := &loadClients{}
	var err error
	if c.disk, err = disk.NewClientWithPipePath(p.socket("disk", "v1")); err != nil {
		return nil, err
	}
	if c.filesystem, err = filesystem.NewClientWithPipePath(p.socket("filesystem", "v2alpha1")); err != nil {
		return nil, errors.Join(err, c.disk.Close())
	}
	if c.volume, err = volume.NewClientWithPipePath(p.socket("volume", "v2alpha1")); err != nil {
		return nil, errors.Join(err, c.disk.Close(), c.filesystem.Close())
	}
	return c, nil
}

func (c *loadClients) close() {
	if c != nil {
		_, _, _ = c.disk.Close(), c.filesystem.Close(), c.volume.Close()
	}
}
