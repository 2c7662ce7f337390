// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"slices"

	api "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// GetDiskState reports whether a disk is online.
func (d *Disks) GetDiskState(ctx context.Context, r *api.GetDiskStateRequest) (*api.GetDiskStateResponse, error) {
	return run(ctx, d.node, operation.On("GetDiskState", operation.Disk(r.GetDiskNumber())),
		asking(r.GetDiskNumber(), func(_ *op, d *disk) (*api.GetDiskStateResponse, error) {
			state, err := d.state()
			return &api.GetDiskStateResponse{IsOnline: state.online}, err
		}))
}

// SetDiskState brings a disk online, writable and with its volumes present, or takes it offline, as the proto says.
func (d *Disks) SetDiskState(ctx context.Context, r *api.SetDiskStateRequest) (*api.SetDiskStateResponse, error) {
	what := operation.On("SetDiskState", operation.Disk(r.GetDiskNumber()))
	what.Arguments, what.Undoes = fmt.Sprintf("online=%t", r.GetIsOnline()), !r.GetIsOnline()
	return &api.SetDiskStateResponse{}, d.node.do(ctx, what, changing(r.GetDiskNumber(), func(o *op, d *disk) error {
		if r.GetIsOnline() {
			return o.bringOnline(d)
		}
		return o.takeOffline(d, nil)
	}))
}

type diskState struct {
	online   bool
	writable bool
}

func (d *disk) state() (diskState, error) {
	attributes, err := d.attributes()
	if err != nil {
		return diskState{}, errdefs.Errorf(err, "reading the state of disk %d", d.number)
	}
	return diskState{
		online:   attributes.Attributes&win32.DISK_ATTRIBUTE_OFFLINE == 0,
		writable: attributes.Attributes&win32.DISK_ATTRIBUTE_READ_ONLY == 0,
	}, nil
}

// isReadOnly reports whether a disk cannot be written: because of its attribute, or because its device is protected.
// Only an online disk tells the latter, and a device that does not know the question counts as writable.
//
// https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-ioctl_disk_is_writable
func (d *disk) isReadOnly(state diskState) bool {
	if !state.writable {
		return true
	}
	if !state.online {
		return false
	}
	_, err := d.DeviceIoControl(win32.IOCTL_DISK_IS_WRITABLE, nil, nil)
	return errdefs.HasCode(err, win32.ERROR_WRITE_PROTECT)
}

func (o *op) bringOnline(d *disk) error {
	if err := o.makeUsable(d); err != nil {
		return err
	}
	layout, err := d.layout()
	if err != nil {
		return err
	}
	_, err = o.awaitVolumes(d, volumePartitions(layout))
	return err
}

// makeUsable brings a disk online, and makes it writable if that is possible. Disks arrive read-only because of SAN
// policy or as clones. Media that is read-only by nature stays so.
func (o *op) makeUsable(d *disk) error {
	state, err := o.makeOnline(d)
	if err != nil || state.writable {
		return err
	}
	if err := o.makeWritable(d); err != nil {
		o.log().Info("A disk came online read-only", "disk", d.number, "err", err)
	}
	return nil
}

// makeOnline clears OFFLINE if it is set, and returns the disk's new state. It clears READ_ONLY before: Windows gives a
// clone beside its original a new identity only while it can write to it, and otherwise keeps it offline. If READ_ONLY
// can be cleared neither before nor in the same step, the disk is online and the returned state shows it.
//
// https://github.com/kubernetes-csi/csi-proxy/issues/287
func (o *op) makeOnline(d *disk) (diskState, error) {
	state, err := d.state()
	if err != nil || state.online {
		return state, err
	}
	o.node.taken.Delete(d.number)
	if !state.writable && d.setAttributes(0, win32.DISK_ATTRIBUTE_READ_ONLY) == nil {
		state.writable = true
		_ = d.updateProperties() // an offline disk may refuse it
	}
	if !state.writable && d.setAttributes(0, win32.DISK_ATTRIBUTE_OFFLINE|win32.DISK_ATTRIBUTE_READ_ONLY) == nil {
		return d.awaitState(true)
	}
	if err := d.setAttributes(0, win32.DISK_ATTRIBUTE_OFFLINE); err != nil {
		return state, errdefs.Errorf(err, "bringing disk %d online", d.number)
	}
	return d.awaitState(true)
}

// makeWritable clears READ_ONLY. Windows mounts the volumes of an online disk anew for it, which takes them from the
// pods that use them: https://github.com/kubernetes-sigs/vsphere-csi-driver/issues/1631
func (o *op) makeWritable(d *disk) error {
	volumes, _ := o.presentVolumes(d)
	for _, v := range volumes {
		if paths, err := o.kernel.VolumePathNames(v.id.String()); err == nil && len(paths) > 0 {
			o.log().Info("A disk becomes writable while its volume is mounted: pods may lose the volume",
				"disk", d.number, "volume", v.id, "mounted", paths)
		}
	}
	return errdefs.Errorf(d.setAttributes(0, win32.DISK_ATTRIBUTE_READ_ONLY), "making disk %d writable", d.number)
}

// GetDiskReadOnly reports whether a disk is read-only, because of its attribute or because its device is protected.
func (d *Disks) GetDiskReadOnly(ctx context.Context, number uint32) (readOnly bool, err error) {
	return read(ctx, d.node, operation.On("GetDiskReadOnly", operation.Disk(number)),
		asking(number, func(_ *op, d *disk) (bool, error) {
			state, err := d.state()
			return err == nil && d.isReadOnly(state), err
		}))
}

// SetDiskReadOnly makes a disk read-only or writable, and does not bring it online. A disk that is so already is left
// alone. A disk that Windows needs is not made read-only.
func (d *Disks) SetDiskReadOnly(ctx context.Context, number uint32, readOnly bool) error {
	what := operation.On("SetDiskReadOnly", operation.Disk(number))
	what.Arguments = fmt.Sprintf("readOnly=%t", readOnly)
	return d.node.change(ctx, what,
		changing(number, func(o *op, d *disk) error { return o.setReadOnly(d, readOnly) }))
}

const protected = "the device itself is write-protected; attach it for writing"

func (o *op) setReadOnly(d *disk, readOnly bool) error {
	state, err := d.state()
	isSet := state.writable != readOnly
	switch {
	case err != nil:
		return err
	case isSet && !readOnly && d.isReadOnly(state):
		return errdefs.FailedPrecondition.Errorf(reason.DiskReadOnly, "disk %d is not made writable: %s", d.number, protected)
	case isSet:
		return nil
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

// takeOffline takes a disk offline after flushing its volumes; with nil it looks for them. If it knows them all, it
// keeps their ids for takenVolumes.
func (o *op) takeOffline(d *disk, volumes []diskVolume) error {
	if err := o.refuseSystemDisk(d, "taken offline"); err != nil {
		return err
	}
	state, err := d.state()
	if err != nil || !state.online {
		return err
	}
	knowsAll := volumes != nil
	if !knowsAll {
		volumes, knowsAll = o.presentVolumes(d)
	}
	if err := o.dismountAndTakeOffline(d, volumes); err != nil {
		return errdefs.Errorf(err, "taking disk %d offline", d.number)
	}
	if knowsAll {
		o.node.taken.Store(d.number, volumes)
	}
	_, err = d.awaitState(false)
	return err
}

// takenVolumes returns the ids of the volumes of a disk that this agent took offline. Known is false if it did not, or
// if the number belongs to another disk now, as its partitions show.
func (o *op) takenVolumes(d *disk, layout win32.DriveLayout) (ids []string, known bool) {
	value, known := o.node.taken.Load(d.number)
	volumes, _ := value.([]diskVolume)
	for _, v := range volumes {
		ids = append(ids, v.id.String())
		known = known && slices.ContainsFunc(layout.Partitions, func(p win32.Partition) bool {
			return p.StartingOffset == v.extent.StartingOffset && p.Length == v.extent.Length
		})
	}
	if !known {
		return nil, false
	}
	return ids, true
}

func (o *op) dismountAndTakeOffline(d *disk, volumes []diskVolume) error {
	defer o.dismountVolumes(volumes)()
	return d.setAttributes(win32.DISK_ATTRIBUTE_OFFLINE, win32.DISK_ATTRIBUTE_OFFLINE)
}

// awaitState makes Windows act on a changed state, which an offline disk may refuse, and returns the confirmed state.
func (d *disk) awaitState(online bool) (diskState, error) {
	if err := d.updateProperties(); err != nil && online && !errdefs.HasCode(err, win32.ERROR_NOT_READY) {
		return diskState{}, errdefs.Errorf(err, "making the new state of disk %d known", d.number)
	}
	state, err := d.state()
	if err != nil {
		return state, err
	}
	if state.online != online {
		return state, errdefs.Internal.Errorf(reason.StateNotApplied,
			"disk %d reports online=%t although Windows accepted online=%t", d.number, state.online, online)
	}
	return state, nil
}

// dismountVolumes locks and dismounts the volumes of a disk that goes offline, which Windows does even to a disk in
// use. A lock flushes its volume, and no program can mount the volume again until release is called. All volumes are
// locked before the first is dismounted. One that stays in use is only flushed.
//
// https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_lock_volume
// https://github.com/microsoft/WSL/blob/3e27a6a50177ce4e32e72f7b957aef5db5768062/src/windows/common/disk.cpp#L62
func (o *op) dismountVolumes(volumes []diskVolume) (release func()) {
	type opened struct {
		kernel.Handle
		id    winpath.VolumeID
		inUse error
	}
	var all []opened
	log := o.log()
	for _, v := range volumes {
		if slices.ContainsFunc(all, func(a opened) bool { return a.id == v.id }) {
			continue // another extent of it
		}
		h, err := o.kernel.OpenDevice(v.id.Device(), readWrite)
		if err != nil {
			log.Info("A volume of a disk that goes offline was not flushed", "volume", v.id, "err", err)
			continue
		}
		all = append(all, opened{h, v.id, o.lockVolume(h)})
	}
	for _, v := range all {
		if v.inUse == nil {
			_, v.inUse = v.DeviceIoControl(win32.FSCTL_DISMOUNT_VOLUME, nil, nil)
		}
		if v.inUse == nil {
			continue
		}
		log.Info("A volume is in use while its disk goes offline: later writes are lost", "volume", v.id, "err", v.inUse)
		if err := v.Flush(); err != nil && !errdefs.HasCode(err, win32.ERROR_WRITE_PROTECT) {
			log.Info("A volume of a disk that goes offline was not flushed", "volume", v.id, "err", err)
		}
	}
	return func() {
		for _, v := range all {
			_ = v.Close() // it has written nothing
		}
	}
}

// lockVolume locks an open volume, for which it waits while another program has something on it open.
func (o *op) lockVolume(h kernel.Handle) error {
	for {
		_, err := h.DeviceIoControl(win32.FSCTL_LOCK_VOLUME, nil, nil)
		if !errdefs.HasCode(err, win32.ERROR_ACCESS_DENIED, win32.ERROR_SHARING_VIOLATION) || !o.run.WaitShared() {
			return err
		}
	}
}

// flushDisk writes the cached data of the disk's volumes. A volume that cannot be flushed does not keep the disk
// writable: the state is the caller's decision, and the volume may be gone already.
func (o *op) flushDisk(d *disk) {
	volumes, _ := o.presentVolumes(d)
	for _, v := range volumes {
		if err := o.fs.FlushVolume(v.id); err != nil {
			o.log().Info("A volume of a disk that becomes read-only was not flushed", "volume", v.id, "err", err)
		}
	}
}

// presentVolumes lists the present volumes of a disk, to be flushed, and reports whether it knows all. A change of the
// disk's state does not need it.
func (o *op) presentVolumes(d *disk) (volumes []diskVolume, all bool) {
	volumes, unanswered, err := o.volumesOf(d)
	all = err == nil && unanswered == nil
	if err != nil { // its partitions cannot be read
		volumes, _, err = o.volumesOn(d.number)
	}
	if err != nil {
		o.log().Info("The volumes of a disk were not listed to be flushed", "disk", d.number, "err", err)
	}
	return volumes, all
}
