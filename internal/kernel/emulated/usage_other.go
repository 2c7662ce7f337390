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
	root, err := c.root.OpenRoot(".")
	if err != nil {
		return 0, err
	}
	defer root.Close()
	c.node.mu.Unlock()
	defer c.node.mu.Lock()
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
