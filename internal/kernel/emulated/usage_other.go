// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package emulated

import (
	"errors"
	"io/fs"
	"os"
)

// fileBytes is what the files of a volume occupy in clusters of a size.
func (c *content) fileBytes(cluster uint64) (used uint64, err error) {
	root, err := c.openRoot()
	if err != nil {
		return 0, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // deleted meanwhile
		}
		if err != nil || !d.Type().IsRegular() || isReserved(d.Name()) {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			used += (uint64(info.Size()) + cluster - 1) / cluster * cluster
		}
		return err
	})
	return used, err
}

// openRoot opens the root directory once more.
func (c *content) openRoot() (*os.Root, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone != nil {
		return nil, c.gone
	}
	return c.root.OpenRoot(".")
}
