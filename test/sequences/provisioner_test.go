// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
)

// discovery is the directory of a node's local volumes: links or mount points that the administrator makes, as the
// provisioner wants them on Windows. They lead into the other working directories.
const discovery = `C:\mnt\disks`

// provisioner is the local static provisioner on the v2alpha1 pipes. In each period it makes persistent volumes of new
// entries in the discovery directory, and empties those that were released. A failed step is retried in the next
// period.
type provisioner struct {
	// the persistent volumes with their capacities, as in the API server, where they outlive the provisioner
	volumes map[string]int64
}

var errNoMountPoint = errors.New("it is neither a link nor a mount point")

func (p *provisioner) discover(c *calls) error { return discover(c, p.volumes, p.capacity) }

// discover plays one period. An error in one entry does not affect the others.
func discover(c *calls, volumes map[string]int64, capacityOf func(*calls, string) (int64, error)) error {
	names, err := c.osReadDirNames(discovery)
	if err != nil {
		return err
	}
	var failures []error
	for _, name := range names {
		if _, known := volumes[name]; known {
			continue
		}
		capacity, err := capacityOf(c, discovery+`\`+name)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", name, err))
			continue
		}
		volumes[name] = capacity
	}
	return errors.Join(failures...)
}

// capacity returns the size of the file system that a path leads into, whether a volume's own or that of its directory.
func (p *provisioner) capacity(c *calls, path string) (int64, error) {
	is, err := call(c, c.node.Filesystem.IsSymlink, &filesystemapi.IsSymlinkRequest{Path: path})
	if err != nil {
		return 0, err
	}
	if !is.GetIsSymlink() {
		return 0, errNoMountPoint
	}
	id, err := call(c, c.node.Volume.GetClosestVolumeIDFromTargetPath,
		&volumeapi.GetClosestVolumeIDFromTargetPathRequest{TargetPath: path})
	if err != nil {
		return 0, err
	}
	stats, err := call(c, c.node.Volume.GetVolumeStats, &volumeapi.GetVolumeStatsRequest{VolumeId: id.GetVolumeId()})
	return stats.GetTotalBytes(), err
}

// clean empties the target of a released persistent volume and deletes the volume, so that the next period makes it
// again.
func (p *provisioner) clean(c *calls, name string) error {
	_, err := call(c, c.node.Filesystem.RmdirContents, &filesystemapi.RmdirContentsRequest{Path: discovery + `\` + name})
	if err == nil {
		delete(p.volumes, name)
	}
	return err
}

// osReadDirNames lists a directory that the provisioner's container sees.
func (c *calls) osReadDirNames(path string) (names []string, err error) {
	err = c.step("readdir", func() error {
		host, err := c.node.Emulated.HostPath(path)
		if err != nil {
			return err
		}
		entries, err := os.ReadDir(host)
		for _, entry := range entries {
			names = append(names, filepath.Base(entry.Name()))
		}
		return err
	})
	return names, err
}
