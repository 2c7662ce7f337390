// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package emulated

import (
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/ntfs"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// emptyNTFS returns the blocks of a new file system.
func emptyNTFS(v ntfs.Volume, now time.Time) []ntfs.Block { return v.Format(now) }

// grownNTFS returns the blocks by which the file system on a volume gets a number of sectors. One that must not be touched
// before it is repaired gives ERROR_DISK_CORRUPT.
func grownNTFS(volume io.ReaderAt, _ bootSector, sectors uint64) ([]ntfs.Block, error) {
	blocks, err := ntfs.Grow(volume, sectors)
	var host *fs.PathError
	if err != nil && !errors.As(err, &host) {
		err = errors.Join(win32.ERROR_DISK_CORRUPT, err)
	}
	return blocks, err
}
