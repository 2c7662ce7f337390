// SPDX-License-Identifier: Apache-2.0

package hostfiles

import (
	"errors"
	"io/fs"
	"os"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// BytesIn returns the bytes that the files of a directory take, in whole clusters, down to a depth. What is removed or
// replaced meanwhile takes none.
func BytesIn(dir *os.Root, cluster uint64, depth int) (used uint64, err error) {
	err = everyName(dir, func(name string) error {
		if IsReserved(name) {
			return nil
		}
		info, err := dir.Lstat(name)
		switch {
		case err == nil && info.Mode().IsRegular():
			used += (uint64(info.Size()) + cluster - 1) / cluster * cluster
		case err == nil && info.IsDir() && depth > 1:
			var below *os.Root
			if below, err = OpenDir(dir, Entry{Name: name, Info: info}); err == nil {
				var more uint64
				more, err = BytesIn(below, cluster, depth-1)
				used, err = used+more, errors.Join(err, below.Close())
			}
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, win32.ERROR_SHARING_VIOLATION) {
			return nil
		}
		return err
	})
	return used, err
}
