// SPDX-License-Identifier: Apache-2.0

package fileowner

import (
	"io/fs"
	"os"
	"path/filepath"
)

// MakeDirectory makes a directory for logs and other records, with its missing parents. On Windows only SYSTEM and
// administrators may write to those that it makes, and users may read: by default anyone may add files below a new
// directory of C:\, and a link put there would make the agent write as SYSTEM where it leads. A directory that exists
// stays as it is.
func MakeDirectory(path string) error {
	return makeDirectory(path)
}

// IsLink reports whether a directory is a symbolic link, a junction or another reparse point, so that files in it end
// up elsewhere. Its parents are not examined.
func IsLink(path string) (bool, error) {
	info, err := os.Lstat(filepath.Clean(path)) // a separator at the end would follow the link
	if err != nil {
		return false, err
	}
	return info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0, nil
}
