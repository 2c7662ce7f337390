// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// fileBytes is what the files of a volume occupy in clusters of a size. Drivers ask for the statistics of every volume
// again and again, and their files change without anybody telling the node, so this looks at all of them each time. The
// lock is free meanwhile. No link is followed; what is deleted meanwhile does not count.
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
