// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"io"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/ntfs"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// On Windows an NTFS of the node's own making is a boot sector alone: csi-proxy.exe runs on every node of a cluster, where
// nobody formats emulated disks, and has a limit of size.

// emptyNTFS returns the blocks of a boot sector.
func emptyNTFS(v ntfs.Volume, _ time.Time) []ntfs.Block { return v.BootSectorOnly() }

// grownNTFS returns the blocks by which a boot sector says another number of sectors. A file system with an MFT is not touched:
// it would have more clusters than bits for them.
func grownNTFS(volume io.ReaderAt, b bootSector, sectors uint64) ([]ntfs.Block, error) {
	mark := make([]byte, 4)
	if _, err := volume.ReadAt(mark, int64(b.mftCluster)*int64(b.clusterBytes)); err != nil {
		return nil, err
	}
	if string(mark) != "\x00\x00\x00\x00" {
		return nil, win32.ERROR_NOT_SUPPORTED
	}
	first := make([]byte, b.bytesPerSector)
	if _, err := volume.ReadAt(first, 0); err != nil {
		return nil, err
	}
	return ntfs.GrowBootSectorOnly(first, sectors), nil
}
