// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"path/filepath"
	"slices"
)

// A DetachedDisk is a disk that was pulled out and lies in the state directory. AttachDisk attaches its bundle again.
type DetachedDisk struct {
	Bundle       string // its directory on the host
	SerialNumber string
	SizeBytes    int64
}

// DetachedDisks returns the disks that were pulled out. Bundles elsewhere on the host are not known. One that cannot
// be read is left out, with an error.
func (n *Node) DetachedDisks() (disks []DetachedDisk, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	bundles, err := filepath.Glob(filepath.Join(n.dir, detachedDir, "*"+bundleSuffix))
	for _, home := range bundles {
		if slices.ContainsFunc(n.diskList(), func(d *disk) bool { return d.image.home == home }) {
			continue
		}
		info, readErr := readBundleInfo(home)
		if readErr != nil {
			err = errors.Join(err, readErr)
			continue
		}
		disks = append(disks, DetachedDisk{Bundle: home, SerialNumber: info.SerialNumber, SizeBytes: int64(info.SizeBytes)})
	}
	return disks, err
}
