// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"io/fs"
	"os"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// usageDepth is how deep files may lie to count. Each level costs handles, and a workload makes as many as it likes.
const usageDepth = 24

// fileBytes returns the space that the files of a volume occupy in clusters of a size. It looks at all files each time,
// because they change without the node's knowledge. Drivers ask for the statistics of every volume again and again, so
// it releases the lock meanwhile. Links are not followed, and files that are deleted meanwhile do not count.
func (c *content) fileBytes(cluster uint64) (used uint64, err error) {
	root, n := c.root, c.node
	n.mu.Unlock()
	used, err = bytesIn(root, cluster, usageDepth)
	n.mu.Lock()
	return used, errors.Join(c.gone, err)
}

func bytesIn(dir *os.Root, cluster uint64, depth int) (used uint64, err error) {
	listErr := eachName(dir, func(name string) bool {
		var more uint64
		more, err = bytesOf(dir, name, cluster, depth)
		used += more
		return err == nil
	})
	if errors.Is(listErr, fs.ErrNotExist) {
		listErr = nil
	}
	return used, errors.Join(listErr, err)
}

// bytesOf returns the space of one name in a directory, and of what is below it.
func bytesOf(dir *os.Root, name string, cluster uint64, depth int) (uint64, error) {
	info, err := dir.Lstat(name)
	var below *os.Root
	switch {
	case err == nil && info.Mode().IsRegular():
		return (uint64(info.Size()) + cluster - 1) / cluster * cluster, nil
	case err == nil && info.IsDir() && depth > 1:
		below, err = openDir(dir, entry{name: name, info: info})
	}
	// The latter: something else has taken the directory's place.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, win32.ERROR_SHARING_VIOLATION) {
		return 0, nil
	}
	if err != nil || below == nil {
		return 0, err
	}
	used, err := bytesIn(below, cluster, depth-1)
	return used, errors.Join(err, below.Close())
}
