// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// GetDiskReadOnly reports whether a disk is read-only, be it that the device itself is protected.
func (d *Disks) GetDiskReadOnly(ctx context.Context, number uint32) (readOnly bool, err error) {
	return readDisk(ctx, d.node, "GetDiskReadOnly", number, func(_ *op, d *disk) (bool, error) {
		state, err := d.state()
		return err == nil && d.isReadOnly(state), err
	})
}

// SetDiskReadOnly makes a disk read-only or writable, and does not bring it online. A disk that is so already is left
// alone. A disk that Windows needs is not made read-only.
func (d *Disks) SetDiskReadOnly(ctx context.Context, number uint32, readOnly bool) error {
	return d.node.changeDisk(ctx, "SetDiskReadOnly", number, fmt.Sprintf("readOnly=%t", readOnly),
		func(o *op, d *disk) error { return o.setReadOnly(d, readOnly) })
}

const protected = "the device itself is write-protected; attach it for writing"

func (o *op) setReadOnly(d *disk, readOnly bool) error {
	state, err := d.state()
	if err != nil || state.writable != readOnly {
		if err == nil && !readOnly && d.isReadOnly(state) {
			err = errdefs.FailedPrecondition.Errorf(reason.DiskReadOnly, "disk %d is not made writable: %s", d.number, protected)
		}
		return err
	}
	if readOnly {
		if err := o.refuseSystemDisk(d, "made read-only"); err != nil {
			return err
		}
		o.flushDisk(d)
		if err := d.setAttributes(win32.DISK_ATTRIBUTE_READ_ONLY, win32.DISK_ATTRIBUTE_READ_ONLY); err != nil {
			return errdefs.Errorf(err, "making disk %d read-only", d.number)
		}
	} else if err := o.makeWritable(d); err != nil {
		return err
	}
	if state, err = d.awaitState(state.online); err == nil && state.writable == readOnly {
		err = errdefs.Internal.Errorf(reason.StateNotApplied,
			"disk %d reports read-only=%t although Windows accepted read-only=%t", d.number, !readOnly, readOnly)
	}
	return err
}
