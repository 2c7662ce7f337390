// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// SystemVolume returns the volume that Windows runs from.
func (fs *FS) SystemVolume() (winpath.VolumeID, error) {
	if id := fs.policy.system.Load(); id != nil {
		return *id, nil
	}
	directory, err := fs.kernel.SystemWindowsDirectory()
	if err != nil {
		return winpath.VolumeID{}, errdefs.Errorf(err, "asking which drive Windows runs from")
	}
	if len(directory) < 3 {
		return winpath.VolumeID{}, fmt.Errorf("the system directory is %q", directory)
	}
	name, err := fs.kernel.VolumeNameForMountPoint(directory[:3])
	if err != nil {
		return winpath.VolumeID{}, errdefs.Errorf(err, "asking for the volume of drive %s", directory[:3])
	}
	id, err := winpath.ParseVolumeID(name)
	if err != nil {
		return winpath.VolumeID{}, err
	}
	fs.policy.system.Store(&id)
	return id, nil
}
