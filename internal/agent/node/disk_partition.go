// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"github.com/Microsoft/go-winio/pkg/guid"

	api "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// msrLength is the length of a Microsoft Reserved partition that we must make ourselves; Windows uses the same length.
const msrLength = 16 << 20

// PartitionDisk makes a blank disk ready for one volume, as the proto says. It returns when the volume is present.
func (d *Disks) PartitionDisk(ctx context.Context, r *api.PartitionDiskRequest) (*api.PartitionDiskResponse, error) {
	return &api.PartitionDiskResponse{}, d.node.do(ctx, operation.On("PartitionDisk", operation.Disk(r.GetDiskNumber())),
		changing(r.GetDiskNumber(), (*op).partition))
}

func (o *op) partition(d *disk) error {
	added, err := o.makePartition(d)
	if err != nil || added == nil {
		return err
	}
	_, now, err := d.partitionAt(added.StartingOffset) // Windows has numbered it
	if err == nil {
		_, err = o.awaitVolumes(d, []win32.Partition{now})
	}
	return err
}

// makePartition is partition without the wait. It returns the new partition, nil for none.
func (o *op) makePartition(d *disk) (added *win32.Partition, err error) {
	layout, err := d.layout()
	if err != nil {
		return nil, err
	}
	// A disk with partitions is refused too: the driver has the wrong disk.
	if err := o.refuseSystemDisk(d, "partitioned"); err != nil {
		return nil, err
	}
	if layout.HasDataPartition() {
		return nil, nil //nolint:nilnil // none is an answer
	}
	if err := d.mayBePartitioned(layout); err != nil {
		return nil, err
	}
	if err := o.makeReady(d); err != nil {
		return nil, err
	}
	if layout.Style != win32.PARTITION_STYLE_GPT {
		if layout, err = d.initialize(); err != nil {
			return nil, err
		}
	}
	return d.addDataPartition(layout)
}

// makeReady brings a disk online and makes it writable; unlike SetDiskState it requires both.
func (o *op) makeReady(d *disk) error {
	state, err := o.makeOnline(d)
	if err != nil || state.writable {
		return err
	}
	return o.makeWritable(d)
}

// initialize writes an empty GPT to a blank disk, and waits a moment for the Microsoft Reserved partition. A layout set
// before Windows adds that partition would be lost ("IOCTL_DISK_CREATE_DISK", remarks). No source says that Windows
// adds one for this control code; if it does not, the layout is returned as it is.
func (d *disk) initialize() (win32.DriveLayout, error) {
	id, err := guid.NewV4()
	if err != nil {
		return win32.DriveLayout{}, err
	}
	request := win32.CreateDisk{Style: win32.PARTITION_STYLE_GPT, DiskID: id, MaxPartitionCount: 128}
	if _, err = d.DeviceIoControl(win32.IOCTL_DISK_CREATE_DISK, request.Bytes(), nil); err == nil {
		err = d.updateProperties()
	}
	if err != nil {
		return win32.DriveLayout{}, errdefs.Errorf(err, "initialising disk %d", d.number)
	}
	var p operation.Backoff
	for {
		layout, err := d.layout()
		if err != nil {
			return win32.DriveLayout{}, err
		}
		if layout.Style != win32.PARTITION_STYLE_GPT {
			return win32.DriveLayout{}, errdefs.Internal.Errorf(reason.NotInitialized,
				"disk %d has no GPT although Windows reported success in writing one", d.number)
		}
		if len(layout.Partitions) > 0 || !p.Wait(reservedTime) {
			return layout, nil
		}
	}
}

func (d *disk) addDataPartition(layout win32.DriveLayout) (*win32.Partition, error) {
	partition, err := d.planAndSet(layout)
	if errdefs.HasCode(err, win32.ERROR_INVALID_PARAMETER) {
		// The plan may be out of date: a Microsoft Reserved partition that came late occupies part of it.
		now, layoutErr := d.layout()
		if layoutErr == nil && !now.HasDataPartition() && len(now.Partitions) != len(layout.Partitions) {
			partition, err = d.planAndSet(now)
		}
	}
	if err != nil {
		return nil, errdefs.Errorf(err, "partitioning disk %d", d.number)
	}
	return &partition, errdefs.Errorf(d.updateProperties(), "making the new partition of disk %d known", d.number)
}

// planAndSet adds a data partition to a layout, and sets the layout.
func (d *disk) planAndSet(layout win32.DriveLayout) (win32.Partition, error) {
	planned, partition, err := win32.PlanDataPartition(layout, msrLength, guid.NewV4)
	if err != nil {
		return partition, noRoom(d.number, err)
	}
	return partition, d.setLayout(planned)
}

func noRoom(disk uint32, err error) error {
	return errdefs.FailedPrecondition.WrapErrorf(err, reason.NoSpace,
		"disk %d has no room for a data partition: %v", disk, err)
}
