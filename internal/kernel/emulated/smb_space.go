// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"cmp"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// defaultShareBytes is the size of a share of which the scenario says none.
const defaultShareBytes = 1 << 40

// FsInformation implements kernel.Handle.
func (h *fileHandle) FsInformation(class uint32, out []byte) error {
	return h.using("NtQueryVolumeInformationFile", false, func() error {
		if class != win32.FileFsFullSizeInformation {
			return win32.ERROR_INVALID_PARAMETER
		}
		size, err := h.content.fullSize()
		if err != nil {
			return err
		}
		return fill(out, size.Bytes())
	})
}

// FsInformation implements kernel.Handle.
func (h *device) FsInformation(uint32, []byte) error {
	return failed("NtQueryVolumeInformationFile", h.object, win32.ERROR_INVALID_PARAMETER)
}

// fullSize returns the sizes of a file system: of a volume, or of a share as its server reports them.
func (c *content) fullSize() (win32.FileFsFullSize, error) {
	const sector = 512
	in := func(total, available, free uint64) win32.FileFsFullSize {
		return win32.FileFsFullSize{
			TotalAllocationUnits: int64(total / clusterSize), CallerAvailableAllocationUnits: int64(available / clusterSize),
			ActualAvailableAllocationUnits: int64(free / clusterSize), SectorsPerAllocationUnit: clusterSize / sector,
			BytesPerSector: sector,
		}
	}
	if !c.isShare() {
		v, ok := c.node.volume(c.id)
		if !ok {
			return win32.FileFsFullSize{}, errVolumeGone
		}
		total, free, err := c.node.space(v, nil)
		return in(total, free, free), err
	}
	used, err := c.fileBytes(clusterSize)
	if err != nil {
		return win32.FileFsFullSize{}, err
	}
	spec := c.spec()
	size, quota := uint64(cmp.Or(spec.SizeBytes, defaultShareBytes)), uint64(spec.QuotaBytes)
	free := size - min(used, size)
	if quota == 0 {
		return in(size, free, free), nil
	}
	return in(min(size, quota), min(free, quota-min(used, quota)), free), nil
}

// SetSMBShareSpace sets the size of a share and the quota of each account there, in bytes; 0: the default, and none. It
// keeps no file from being written. ErrInvalidSMB: more than 16 TiB, or less than nothing.
func (n *Node) SetSMBShareSpace(serverName, shareName string, size, quota int64) error {
	what := fmt.Sprintf(`share \\%s\%s`, serverName, shareName)
	wanted := SMBShareSpec{Name: shareName, SizeBytes: Size(size), QuotaBytes: Size(quota)}
	if err := wanted.checkSpace(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return n.changeSMB(what, func(s *smbState) bool {
		server := s.server(serverName)
		if server == nil || server.share(shareName) == nil {
			return false
		}
		share := *server.share(shareName)
		share.SizeBytes, share.QuotaBytes = wanted.SizeBytes, wanted.QuotaBytes
		server.drop(shareName) // which copies the list
		server.Shares = append(server.Shares, share)
		return true
	})
}

// checkSpace refuses impossible sizes. ErrInvalidSMB.
func (s *SMBShareSpec) checkSpace() error {
	for name, bytes := range map[string]Size{"size": s.SizeBytes, "quota": s.QuotaBytes} {
		if bytes < 0 || bytes > maxDiskBytes {
			return fmt.Errorf("%w: share %q has the %s %d; it must be at most 16 TiB", ErrInvalidSMB, s.Name, name, bytes)
		}
	}
	return nil
}
