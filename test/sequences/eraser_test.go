// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"errors"

	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
)

// eraser is the local static provisioner as it is released, on the v1 pipes: it erases a released volume by formatting
// it.
//
// https://github.com/kubernetes-sigs/sig-storage-local-static-provisioner, pkg/util/volume_util_windows.go,
// pkg/discovery/discovery.go and pkg/deleter/deleter.go
type eraser struct {
	volumes map[string]int64 // the persistent volumes with their capacities
}

var errNotALink = errors.New("it is not a symbolic link")

// discover makes persistent volumes of new entries in the discovery directory.
func (e *eraser) discover(c *calls) error {
	return discover(c, e.volumes, e.capacity)
}

func (e *eraser) capacity(c *calls, path string) (int64, error) {
	is, err := call(c, c.filesystem.IsSymlink, &filesystemapi.IsSymlinkRequest{Path: path})
	if err != nil {
		return 0, err
	}
	if !is.GetIsSymlink() {
		return 0, errNotALink
	}
	total, _, err := c.statsAt(path)
	return total, err
}

// clean erases the volume of a released persistent volume. Only after that it deletes the persistent volume, so that
// the next period makes it again.
func (e *eraser) clean(c *calls, name string) error {
	id, err := c.volumeAt(discovery + `\` + name)
	if err == nil {
		err = c.format(id)
	}
	if err == nil {
		delete(e.volumes, name)
	}
	return err
}
