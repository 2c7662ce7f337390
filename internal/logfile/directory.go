// SPDX-License-Identifier: Apache-2.0

package logfile

import (
	"fmt"
	"os"
	"path/filepath"
)

// MakeDirectory makes a directory for logs, and the missing ones above it. On Windows those that it makes are written
// by SYSTEM and administrators only, and read by users: by default anyone may add files below a new directory of C:\,
// and a link put there would make the agent write as SYSTEM where it leads. A directory that exists stays as it is.
func MakeDirectory(path string) error {
	if err := makeDirectory(path); err != nil {
		return fmt.Errorf("log directory: %w", err)
	}
	return nil
}

// IsLink tells whether a directory is a symbolic link, a junction or another reparse point, so that what is written in
// it ends up elsewhere. Those above it are not looked at.
func IsLink(path string) (bool, error) {
	info, err := os.Lstat(filepath.Clean(path)) // a separator at the end would be followed
	if err != nil {
		return false, err
	}
	return isLink(info.Mode()), nil
}
