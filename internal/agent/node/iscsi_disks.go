// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	api "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// GetTargetDisks returns the numbers of the disks of a target, as the proto says, in ascending order.
func (s *ISCSI) GetTargetDisks(ctx context.Context, r *api.GetTargetDisksRequest) (*api.GetTargetDisksResponse, error) {
	_, name, err := parseTarget(r)
	if err != nil {
		return nil, err
	}
	found, err := s.disksOf(ctx, name)
	disks := make([]string, 0, len(found))
	for _, number := range found {
		disks = append(disks, strconv.FormatUint(uint64(number), 10))
	}
	return &api.GetTargetDisksResponse{DiskIDs: disks}, err
}

func (s *ISCSI) disksOf(ctx context.Context, name targetName) ([]uint32, error) {
	return run(ctx, s.node, operation.On("GetTargetDisks", operation.Target(string(name))),
		func(o *op) ([]uint32, error) {
			var p operation.Backoff
			for {
				found, err := o.targetDisks(name)
				if err != nil || found.sessions == 0 {
					return []uint32{}, err
				}
				if len(found.disks) > 0 && found.late == 0 || !found.connected ||
					!p.Wait(time.Until(o.node.disksUntil(name))) {
					return found.disks, nil
				}
			}
		})
}

// targetDisks are the disks that the sessions with a target brought.
type targetDisks struct {
	sessions  int
	connected bool     // one of the sessions is
	disks     []uint32 // sorted
	late      int      // devices that have no number yet
	unseen    bool     // a session may have disks that are not among these
}

func (o *op) targetDisks(name targetName) (found targetDisks, err error) {
	sessions, err := o.sessions(name)
	if err != nil {
		return found, err
	}
	found.disks = []uint32{}
	for _, session := range sessions {
		devices, err := listISCSI(o, func() ([]byte, int, error) { return o.kernel.DevicesForISCSISession(session.ID) },
			win32.ParseISCSIDevices, "asking for the disks of the target %s", name)
		if errdefs.HasCode(err, win32.ISDSC_INVALID_SESSION_ID, win32.ISDSC_NOT_FOUND) {
			found.unseen = true
			continue // the session has ended meanwhile
		}
		if err != nil {
			return found, err
		}
		found.sessions++
		found.connected = found.connected || session.Connected
		// While a connection is lost, the initiator removes the disks, and brings them back with the connection.
		found.unseen = found.unseen || !session.Connected || len(devices) == 0
		for _, device := range devices {
			switch number := o.numberOf(device); {
			case number != math.MaxUint32:
				found.disks = append(found.disks, number)
			case device.Number.DeviceType == win32.FILE_DEVICE_DISK || device.Number.DeviceType == 0:
				found.late++
			}
		}
	}
	slices.Sort(found.disks)
	found.disks = slices.Compact(found.disks)
	found.unseen = found.unseen || found.late > 0
	return found, nil
}

// numberOf returns the disk number of a device, math.MaxUint32 if it has none. With several paths to a disk, the number
// that the initiator reports may be that of a path, so the device itself is asked if it can be opened.
func (o *op) numberOf(device win32.ISCSIDevice) uint32 {
	number := device.Number
	if device.InterfaceName != "" {
		restore, err := o.run.TrackObject(operation.DeviceInterface(device.InterfaceName))
		if err != nil {
			return math.MaxUint32
		}
		defer restore()
		if h, err := o.kernel.OpenDevice(device.InterfaceName, 0); err == nil {
			defer h.Close()
			asked, err := query(h, win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, 12, win32.ParseStorageDeviceNumber)
			if err == nil {
				number = asked
			}
		}
	}
	if number.DeviceType != win32.FILE_DEVICE_DISK {
		return math.MaxUint32
	}
	return number.DeviceNumber
}

// DisconnectTarget flushes the disks of a target and logs out of it for good, as the proto says. A disk that may be in
// use counts as one that is: Windows does not show the disks of a session that has lost its connection.
func (s *ISCSI) DisconnectTarget(ctx context.Context,
	r *api.DisconnectTargetRequest) (*api.DisconnectTargetResponse, error) {
	_, name, err := parseTarget(r)
	if err != nil {
		return nil, err
	}
	return &api.DisconnectTargetResponse{}, s.node.do(ctx,
		operation.On("DisconnectTarget", operation.Target(string(name))), func(o *op) error { return o.disconnect(name) })
}

func (o *op) disconnect(name targetName) error {
	sessions, err := o.sessions(name)
	if err != nil {
		return err
	}
	if len(sessions) > 0 {
		if err := o.settleDisks(name); err != nil {
			return err
		}
	}
	// Before the logout: after a successful one, no caller comes back to forget the login.
	if err := o.forgetLogins(name); err != nil {
		return err
	}
	for _, session := range sessions {
		err := o.callISCSI(func() error { return o.kernel.LogoutISCSITarget(session.ID) },
			"logging out of the target %s", name)
		switch {
		case err == nil, errdefs.HasCode(err, win32.ISDSC_INVALID_SESSION_ID, win32.ISDSC_NOT_FOUND):
		case errdefs.HasCode(err, win32.ISDSC_DEVICE_BUSY_ON_SESSION):
			return errdefs.FailedPrecondition.WrapErrorf(err, reason.TargetInUse,
				"the target %s stays connected: one of its disks is in use on this node", name)
		default:
			return err
		}
	}
	o.node.arrivals.Delete(name)
	return nil
}

// isDriveRoot reports whether a path that Windows gives for a volume is its drive letter. Automount assigns drive
// letters, and no caller can remove them; Windows refuses the logout if anything there is open.
func isDriveRoot(path string) bool { return len(path) == len(`X:\`) && path[1:] == `:\` }

// settleDisks flushes the volumes of the target's disks and makes sure that none is mounted at a directory until the
// operation is over. If it does not see all of the disks, no volume that is not present may be mounted.
func (o *op) settleDisks(name targetName) error {
	found, err := o.disksToSettle(name)
	if err != nil {
		return err
	}
	var volumes []diskVolume
	for _, number := range found.disks {
		on, err := o.volumesOfTarget(number)
		if err != nil {
			return err
		}
		volumes = append(volumes, on...)
	}
	var locked []operation.Object
	for _, v := range volumes {
		locked = append(locked, operation.Volume(v.id))
	}
	for _, number := range found.disks {
		locked = append(locked, operation.Disk(number))
	}
	if err := o.run.Lock(locked...); err != nil {
		return err
	}
	for _, v := range volumes {
		paths, err := o.kernel.VolumePathNames(v.id.String())
		paths = slices.DeleteFunc(paths, func(path string) bool { return isDriveRoot(path) || o.isStale(path) })
		switch {
		case err != nil && !o.fs.VolumePresent(v.id):
		case err != nil:
			return errdefs.Errorf(err, "asking where volume %s is mounted", v.id)
		case len(paths) > 0:
			return errdefs.FailedPrecondition.Errorf(reason.TargetInUse,
				"the target %s stays connected: volume %s on disk %d is mounted at %s; unmount it first",
				name, v.id, v.extent.DiskNumber, paths[0])
		}
	}
	for _, v := range volumes {
		err := o.fs.FlushVolume(v.id)
		// without a file system there is nothing to write
		if err == nil || errdefs.HasCode(err, win32.ERROR_INVALID_FUNCTION) {
			continue
		}
		if o.fs.VolumePresent(v.id) {
			return err
		}
		o.log().Info("A volume of a target disappeared before it was flushed", "volume", v.id, "err", err)
		found.unseen = true
	}
	if found.unseen {
		return o.refuseMissingVolumes(name)
	}
	return nil
}

// volumesOfTarget lists the volumes of a target's disk, which may be going.
func (o *op) volumesOfTarget(number uint32) (volumes []diskVolume, err error) {
	d, err := o.openDisk(number, 0)
	if err == nil {
		defer d.Close()
		volumes, _, err = o.volumesOf(d)
	}
	if err != nil {
		volumes, _, err = o.volumesOn(number)
	}
	return volumes, err
}

// disksToSettle returns the disks of a target. If a disk that Windows does not show may be in use, it waits for the
// disks that arrive after a recent login.
func (o *op) disksToSettle(name targetName) (targetDisks, error) {
	var p operation.Backoff
	for {
		found, err := o.targetDisks(name)
		if err != nil || !found.unseen || !found.connected || o.refuseMissingVolumes(name) == nil ||
			!p.Wait(time.Until(o.node.disksUntil(name))) {
			return found, err
		}
	}
}

// refuseMissingVolumes returns an error if a volume is mounted that is not present: it may be on a disk that a target
// brings back when the node reaches it again. A mount point does not name the disk of its volume.
func (o *op) refuseMissingVolumes(name targetName) error {
	search := o.links(true)
	if i := slices.IndexFunc(search.found, (*admin.Link).GetMissing); i >= 0 {
		return errdefs.Unavailable.Errorf(reason.Reconnecting,
			"the target %s stays connected: Windows does not show all of its disks, as while it reconnects, and the volume "+
				"mounted at %s may be on one of them; wait for the target, or unmount the volume", name, search.found[i].GetPath())
	}
	if search.err != nil {
		return errdefs.Errorf(search.err, "looking for users of the target %s, whose disks Windows does not show", name)
	}
	return nil
}

// forgetLogins removes the persistent logins to a target.
func (o *op) forgetLogins(name targetName) error {
	logins, err := listISCSI(o, o.kernel.ISCSIPersistentLogins, win32.ParsePersistentISCSILogins,
		"listing the persistent iSCSI logins")
	if err != nil {
		return err
	}
	for _, login := range logins {
		if parsed, err := parseTargetName(login.TargetName); err != nil || parsed != name {
			continue
		}
		err := o.callISCSI(func() error {
			return o.kernel.RemoveISCSIPersistentTarget(login.Initiator, login.InitiatorPort, login.TargetName,
				login.Portal.Bytes())
		}, "forgetting the persistent login to the target %s", name)
		if err != nil && !errdefs.HasCode(err, win32.ISDSC_NOT_FOUND, win32.ISDSC_TARGET_NOT_FOUND) {
			return err
		}
	}
	return nil
}
