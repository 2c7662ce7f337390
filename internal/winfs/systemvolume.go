// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"fmt"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
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

// SystemVolume returns the volume that Windows runs from.
func (fs *FS) SystemVolume() (winpath.VolumeID, error) {
	if id, known := fs.policy.system.get(); known {
		return id, nil
	}
	directory, err := fs.Kernel.SystemWindowsDirectory()
	if err != nil {
		return winpath.VolumeID{}, errdefs.Errorf(err, "asking which drive Windows runs from")
	}
	if len(directory) < 3 {
		return winpath.VolumeID{}, fmt.Errorf("the system directory is %q", directory)
	}
	name, err := fs.Kernel.VolumeNameForMountPoint(directory[:3])
	if err != nil {
		return winpath.VolumeID{}, errdefs.Errorf(err, "asking for the volume of drive %s", directory[:3])
	}
	id, err := winpath.ParseVolumeID(name)
	if err != nil {
		return winpath.VolumeID{}, err
	}
	fs.policy.system.set(id)
	return id, nil
}
