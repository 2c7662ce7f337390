// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// installation is how far Windows is with a disk that it has never seen. With the switch DisksInstallLate it notices
// the disk when it is told to look, and lists it when the installation was waited for.
type installation int

const (
	installed installation = iota
	notInstalled
	noticed
)

// ReenumerateDevices implements kernel.Devices.
func (n *Node) ReenumerateDevices() error {
	return n.call("CM_Reenumerate_DevNode", "", func() error {
		if err := n.privileged(loadDriver, win32.ERROR_ACCESS_DENIED); err != nil {
			return err
		}
		return n.noticeDisks()
	})
}

// UpdateStorageCache implements kernel.Devices.
func (n *Node) UpdateStorageCache() error {
	return n.call("MSFT_StorageSetting.UpdateHostStorageCache", "", func() error {
		n.updateCache()
		return n.noticeDisks()
	})
}

func (n *Node) noticeDisks() error {
	for _, d := range n.disks {
		if d.installing == notInstalled {
			d.installing = noticed
		}
		if d.image.home != "" { // another node may have changed it
			if err := d.image.measure(); err != nil {
				return err
			}
			if err := d.refresh(); err != nil {
				return err
			}
		}
	}
	return nil
}

// WaitForDeviceInstalls implements kernel.Devices. It takes no time.
func (n *Node) WaitForDeviceInstalls(time.Duration) error {
	return n.call("CMP_WaitNoPendingInstallEvents", "", func() error {
		for _, d := range n.disks {
			if d.installing == noticed {
				d.installing = installed
				if err := d.refresh(); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// installed returns the disk with a number, if it is there and installed.
func (n *Node) installed(number uint32) (*disk, error) {
	if d, ok := n.disks[number]; ok && d.installing == installed {
		return d, nil
	}
	return nil, win32.ERROR_FILE_NOT_FOUND
}
