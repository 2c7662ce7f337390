// SPDX-License-Identifier: Apache-2.0

package logfile

import (
	"fmt"
	"io/fs"
	"os"
)

// openOwn opens a file for appending, or makes it. Callers influence what SYSTEM writes there, so nobody who may write
// to the directory may divert it to another file by a link with the log's name. So the last component is not followed,
// and the opened file is checked before anything is written. The last byte is read through the same handle.
func openOwn(path string) (*os.File, fs.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|notFollowing, 0o640) //nolint:gosec // the group may read it
	if err != nil {
		// The system's texts differ and do not help: too many levels of symbolic links, no such device.
		if info, statErr := os.Lstat(path); statErr == nil && !info.Mode().IsRegular() {
			return nil, nil, fmt.Errorf("%w (%w)", notRegular(path, info.Mode()), err)
		}
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular(path, info.Mode()) // nothing more can be asked of a device
	}
	var names uint64
	var reparse bool
	if err == nil {
		names, reparse, err = identify(file, info)
	}
	if err == nil {
		err = checkOwn(path, names, reparse)
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// checkOwn refuses a regular file that is a reparse point or does not have exactly one name.
func checkOwn(path string, names uint64, reparse bool) error {
	switch {
	case reparse:
		return notRegular(path, fs.ModeIrregular)
	case names != 1:
		return fmt.Errorf("%s is refused: the file has %d names (hard links), and the log would appear under all of them; "+
			"remove this one or give another path", path, names)
	}
	return nil
}

// isLink reports whether a file of that mode leads elsewhere. In Go, junctions and other reparse points are irregular.
func isLink(mode fs.FileMode) bool { return mode&(fs.ModeSymlink|fs.ModeIrregular) != 0 }

func notRegular(path string, mode fs.FileMode) error {
	if isLink(mode) {
		return fmt.Errorf("%s is refused: it is a link or another reparse point, which is not followed; remove it or give "+
			"the path of its target", path)
	}
	return fmt.Errorf("%s is refused: it is not a regular file", path)
}
