// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// providerLag is how long the storage provider learns nothing of a disk's change, even if its cache is refreshed.
// StorageDsc waits at least 3 s, and at most 30 s, before it formats a new partition.
const providerLag = 3 * time.Second

// code returns the code as the kernel reports it.
func (p ProviderLate) code() (code win32.Errno, known bool) {
	switch p {
	case ProviderLateOutdated:
		return kernel.StorageCacheOutOfDate, true
	case ProviderLateUnknown:
		return kernel.StorageNotInCache, true
	case ProviderLateOffline:
		return kernel.StorageDiskOffline, true
	case ProviderLateReadOnly:
		return win32.ERROR_WRITE_PROTECT, true
	}
	return 0, false
}

// noticed fails while the storage provider has not learned of the disk's last change.
func (d *disk) noticed() error {
	if code, late := d.node.state.Switches.ProviderLate.code(); late && !d.changed.IsZero() {
		return code
	}
	return nil
}

// updateCache makes the storage provider learn of the changes that are old enough.
func (n *Node) updateCache() {
	now := n.state.Clock.now()
	for _, d := range n.disks {
		if passed := now.Sub(d.changed); passed >= providerLag || passed < 0 { // the clock may have been set back
			d.changed = time.Time{}
		}
	}
}
