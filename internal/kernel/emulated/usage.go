// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// fileBytes returns the space that the files of a volume occupy in clusters of a size. It looks at all files each time,
// because they change without the node's knowledge. Drivers ask for the statistics of every volume again and again, so it
// releases the lock meanwhile. Links are not followed, and files that are deleted meanwhile do not count.
func (c *content) fileBytes(cluster uint64) (used uint64, err error) {
	c.node.mu.Unlock()
	err = filepath.WalkDir(c.path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !isReserved(d.Name()) {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				used += (uint64(info.Size()) + cluster - 1) / cluster * cluster
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	c.node.mu.Lock()
	return used, errors.Join(c.gone, err)
}
