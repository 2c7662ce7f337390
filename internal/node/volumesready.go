// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// waitForVolumes is p.wait for something that the volumes of a disk bring. A pause ends early when Windows says that
// they are ready.
func (o *op) waitForVolumes(p *patience, disk uint32, limit time.Duration) bool {
	if p.until.IsZero() {
		p.early = o.volumesReady(disk)
	}
	return p.wait(limit)
}

// volumesReady returns a channel that is closed if Windows says within askTime that a disk's volumes are ready for use.
// The call has a handle of its own, which it blocks, and an object of its own: if it hangs, the disk does not. While it
// runs, no other is made for the disk, and the channel is nil.
//
// https://learn.microsoft.com/windows/win32/fileio/ioctl-disk-are-volumes-ready
func (o *op) volumesReady(disk uint32) <-chan struct{} {
	if _, asked := o.node.awaited.LoadOrStore(disk, true); asked {
		return nil
	}
	ready := make(chan struct{})
	volumes := object{kind: volumeArrival, name: fmt.Sprintf("volumes of disk %d", disk)}
	o.node.busy.Go(func() {
		err := o.ask(volumes, 1, func(o *op) error {
			defer o.node.awaited.Delete(disk)
			d, err := o.openDisk(disk, win32.GENERIC_READ)
			if err != nil {
				return err
			}
			defer d.Close()
			_, err = d.DeviceIoControl(win32.IOCTL_DISK_ARE_VOLUMES_READY, nil, nil)
			return err
		})
		if err != nil {
			klog.FromContext(o.ctx).V(4).Info("Windows does not say when the volumes of a disk are ready",
				"disk", disk, "err", err)
			return
		}
		close(ready)
	})
	return ready
}
