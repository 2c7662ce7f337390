// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"context"
	"errors"
	"fmt"
	"slices"

	csiproxy "github.com/kubernetes-csi/csi-proxy/client/calls"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
)

// stillThere returns the disk that matches. It does not take one for detached whose marks could not be read once, or
// that does not answer: agents leave such marks and disks out of their lists.
func (m *Mounter) stillThere(ctx context.Context, match Match) (disk Disk, err error) {
	for range 2 {
		if disk, err = m.FindDisk(ctx, match); !errors.Is(err, csiproxy.ErrDiskNotFound) {
			return disk, err
		}
	}
	if unknown := m.allAnswer(ctx); unknown != nil {
		return Disk{}, unknown
	}
	return Disk{}, err
}

// allAnswer returns an error if a disk that is not in the list of disks fails to answer. Disk numbers are the lowest
// that are free.
func (m *Mounter) allAnswer(ctx context.Context) error {
	disks, err := m.Disks(ctx)
	if err != nil {
		return err
	}
	for number, left := uint32(0), len(disks); ; number++ {
		if slices.ContainsFunc(disks, func(d Disk) bool { return d.Number == number }) {
			left--
			continue
		}
		_, err := m.client.Disk.GetDiskState(ctx, &csiproxy.GetDiskStateRequest{DiskNumber: number})
		switch {
		// Windows may keep a disk out of its list, too
		case (err == nil || errors.Is(err, csiproxy.ErrDiskNotFound)) && left > 0:
		case err == nil, errors.Is(err, csiproxy.ErrDiskNotFound):
			return nil
		case errors.Is(err, csiproxy.ErrUnsupported) || hasReason(err, reason.Policy) || withoutReason(err):
			return nil // this agent says no more
		default:
			return fmt.Errorf("cannot identify disk %d: %w", number, err)
		}
	}
}
