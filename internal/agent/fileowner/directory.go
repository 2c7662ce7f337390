// SPDX-License-Identifier: Apache-2.0

package fileowner

import (
	"io/fs"
	"os"
	"path/filepath"
)

// IsLink reports whether a directory is a link or another reparse point, so that files in it end up elsewhere.
func IsLink(path string) (bool, error) {
	info, err := os.Lstat(filepath.Clean(path)) // a separator at the end would follow the link
	if err != nil {
		return false, err
	}
	return info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0, nil
}
