// SPDX-License-Identifier: Apache-2.0

package node

import (
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// waitForVolumes is p.Wait for a state that arriving volumes bring. A pause ends early when Windows says that they are
// ready.
func (o *op) waitForVolumes(p *operation.Backoff, disk uint32, limit time.Duration) bool {
	if !p.Begun() {
		p.Early = o.volumesReady(disk)
	}
	return p.Wait(limit)
}

// volumesReady returns a channel that is closed if Windows says in time that a disk's volumes are ready for use.
// The call has a handle of its own, which it blocks, and an object of its own: if it hangs, the disk does not. While it
// runs, no other is made for the disk, and the channel is nil.
//
// https://learn.microsoft.com/windows/win32/fileio/ioctl-disk-are-volumes-ready
func (o *op) volumesReady(disk uint32) <-chan struct{} {
	if _, asked := o.node.awaited.LoadOrStore(disk, true); asked {
		return nil
	}
	ready := make(chan struct{})
	o.node.operations.Go(func() {
		_, err := operation.Child(o.run, operation.VolumeArrival(disk), 1,
			func(child *operation.Operation) (n int, err error) {
				defer o.node.awaited.Delete(disk)
				d, err := (o.node.op(child)).openDisk(disk, win32.GENERIC_READ)
				if err != nil {
					return 0, err
				}
				defer d.Close()
				return d.DeviceIoControl(win32.IOCTL_DISK_ARE_VOLUMES_READY, nil, nil)
			})
		if err != nil {
			o.log().V(4).Info("Windows does not say when the volumes of a disk are ready", "disk", disk, "err", err)
			return
		}
		close(ready)
	})
	return ready
}
