// SPDX-License-Identifier: Apache-2.0

package hostfiles

import (
	"errors"
	"io/fs"
	"os"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// BytesIn returns the bytes that the files of a directory take, in whole clusters, down to a depth.
func BytesIn(dir *os.Root, cluster uint64, depth int) (used uint64, err error) {
	err = everyName(dir, func(name string) error {
		if IsReserved(name) {
			return nil
		}
		more, err := bytesOf(dir, name, cluster, depth)
		used += more
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return used, err
}

// bytesOf returns the space of one name in a directory, and of what is below it.
func bytesOf(dir *os.Root, name string, cluster uint64, depth int) (uint64, error) {
	info, err := dir.Lstat(name)
	var below *os.Root
	switch {
	case err == nil && info.Mode().IsRegular():
		return (uint64(info.Size()) + cluster - 1) / cluster * cluster, nil
	case err == nil && info.IsDir() && depth > 1:
		below, err = OpenDir(dir, Entry{Name: name, Info: info})
	}
	// The latter: something else has taken the directory's place.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, win32.ERROR_SHARING_VIOLATION) {
		return 0, nil
	}
	if err != nil || below == nil {
		return 0, err
	}
	used, err := BytesIn(below, cluster, depth-1)
	return used, errors.Join(err, below.Close())
}
