// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"math"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// GetTargetDisks returns the numbers of the disks that a target has given the node, in order. Right after ConnectTarget
// it waits for them up to ten seconds. A target that is not connected has none.
func (s *ISCSI) GetTargetDisks(ctx context.Context, at TargetPortal, target string) ([]uint32, error) {
	_, name, err := parseTarget(at, target)
	if err != nil {
		return nil, err
	}
	return read(ctx, s.calls, "GetTargetDisks", func(o *op) ([]uint32, error) {
		var p patience
		for {
			found, err := o.targetDisks(name)
			if err != nil || found.sessions == 0 {
				return []uint32{}, err
			}
			if len(found.disks) > 0 && found.late == 0 || !p.wait(time.Until(s.expected(name))) {
				return found.disks, nil
			}
		}
	})
}

// expectDisks notes that the disks of a target may come from now on.
func (s *ISCSI) expectDisks(name targetName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetOldLogins()
	s.logins[name] = time.Now()
}

// forgetOldLogins forgets logins whose disks are no longer waited for; mu is held.
func (s *ISCSI) forgetOldLogins() {
	for n, since := range s.logins {
		if time.Since(since) > arrivalTime {
			delete(s.logins, n)
		}
	}
}

// expected is until when the disks of a target may still come; long ago when nobody logged in lately.
func (s *ISCSI) expected(name targetName) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetOldLogins()
	since, ok := s.logins[name]
	if !ok {
		return time.Time{}
	}
	return since.Add(arrivalTime)
}

// targetDisks is what the sessions with a target have brought.
type targetDisks struct {
	sessions int
	disks    []uint32 // sorted
	late     int      // devices that have no number yet
}

func (o *op) targetDisks(name targetName) (found targetDisks, err error) {
	sessions, err := o.sessions(name)
	if err != nil {
		return found, err
	}
	found.disks = []uint32{}
	for _, session := range sessions {
		devices, err := o.sessionDevices(session.ID)
		if hasCode(err, win32.ISDSC_INVALID_SESSION_ID, win32.ISDSC_NOT_FOUND) {
			continue // it ended meanwhile
		}
		if err != nil {
			return found, o.failISCSI(err, "asking for the disks of the target %s", name)
		}
		found.sessions++
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
	return found, nil
}

// sessionDevices asks with GetDevicesForIScsiSessionW, which right after a login has been seen to say for a moment that the
// devices are in use, or that it needs a larger buffer than it says it needs.
func (o *op) sessionDevices(id win32.ISCSIUniqueID) (devices []win32.ISCSIDevice, err error) {
	err = o.whileSessionBusy(func() error {
		b, count, err := o.k.DevicesForISCSISession(id)
		if o.unlessDone(err) == nil {
			devices, err = win32.ParseISCSIDevices(b, count)
		}
		return err
	}, win32.ISDSC_DEVICE_BUSY_ON_SESSION, win32.ERROR_INSUFFICIENT_BUFFER, win32.ISDSC_BUFFER_TOO_SMALL)
	return devices, err
}

// numberOf is the disk number of a device, math.MaxUint32 if it has none. With several paths to a disk the number that
// the initiator reports may be that of a path, so the device itself is asked where it can be opened.
func (o *op) numberOf(device win32.ISCSIDevice) uint32 {
	number := device.Number
	if device.InterfaceName != "" {
		if h, err := o.k.OpenDevice(device.InterfaceName, 0); err == nil {
			defer h.Close()
			if asked, err := query(h, win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, 12, win32.ParseStorageDeviceNumber); err == nil {
				number = asked
			}
		}
	}
	if number.DeviceType != win32.FILE_DEVICE_DISK {
		return math.MaxUint32
	}
	return number.DeviceNumber
}

// DisconnectTarget writes out what Windows holds for the disks of a target and logs out of it, for good: a login that
// Windows would make again after a reboot is forgotten. A target that is not connected is success. While a volume of it
// is mounted at a directory, or a disk otherwise in use, it stays connected.
func (s *ISCSI) DisconnectTarget(ctx context.Context, at TargetPortal, target string) error {
	_, name, err := parseTarget(at, target)
	if err != nil {
		return err
	}
	j := job{what: "DisconnectTarget(" + string(name) + ")", key: "DisconnectTarget " + string(name), locks: []string{targetLock(name)}}
	_, err = change(ctx, s.calls, j, func(o *op) (done, error) { return done{}, s.disconnect(o, name) })
	return err
}

func (s *ISCSI) disconnect(o *op, name targetName) error {
	sessions, err := o.sessions(name)
	if err != nil {
		return err
	}
	if len(sessions) > 0 {
		if err := o.settleDisks(name); err != nil {
			return err
		}
	}
	// Before the logout: after one that succeeded nobody would come back to forget the login.
	if err := o.forgetLogins(name); err != nil {
		return err
	}
	for _, session := range sessions {
		// A disk may be in use for a moment by one that just looks at it, such as a virus scanner.
		err := o.whileSessionBusy(func() error { return o.k.LogoutISCSITarget(session.ID) }, win32.ISDSC_DEVICE_BUSY_ON_SESSION)
		switch {
		case err == nil, hasCode(err, win32.ISDSC_INVALID_SESSION_ID, win32.ISDSC_NOT_FOUND):
		case hasCode(err, win32.ISDSC_DEVICE_BUSY_ON_SESSION):
			return &Error{
				Class: FailedPrecondition, Reason: reasonTargetInUse, Err: err,
				Message: "the target " + string(name) + " stays connected: something on this node has a disk of it in use",
			}
		default:
			return o.failISCSI(err, "logging out of the target %s", name)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.logins, name)
	return nil
}

const reasonTargetInUse = "TARGET_IN_USE"

// isDriveRoot tells whether a path that Windows gives for a volume is its drive letter. Automount assigns those, and no
// caller can take them away; what is open there refuses the logout.
func isDriveRoot(path string) bool { return len(path) == len(`X:\`) && path[1:] == `:\` }

// settleDisks makes sure that no volume of the target's disks is mounted at a directory, or gets mounted until the operation is over,
// and writes them out.
func (o *op) settleDisks(name targetName) error {
	found, err := o.targetDisks(name)
	if err != nil {
		return err
	}
	var volumes []diskVolume
	for _, number := range found.disks {
		on, err := o.volumesOn(number)
		if err != nil {
			return err
		}
		volumes = append(volumes, on...)
	}
	if err := o.lockVolumes(volumes, found.disks); err != nil {
		return err
	}
	for _, v := range volumes {
		paths, err := o.k.VolumePathNames(v.id.String())
		paths = slices.DeleteFunc(paths, isDriveRoot)
		switch {
		case err != nil && !o.volumePresent(v.id):
		case err != nil:
			return fail(err, "asking where volume %s is mounted", v.id)
		case len(paths) > 0:
			return errorf(FailedPrecondition, reasonTargetInUse, "the target %s stays connected: volume %s on disk %d is mounted at %s; unmount it first",
				name, v.id, v.extent.DiskNumber, paths[0])
		}
	}
	for _, v := range volumes {
		err := o.flushVolume(v.id)
		if err == nil || hasCode(err, win32.ERROR_INVALID_FUNCTION) { // no file system, nothing to write
			continue
		}
		if o.volumePresent(v.id) {
			return err
		}
		klog.FromContext(o.ctx).Info("A volume of a target went before it was flushed", "volume", v.id, "err", err)
	}
	return nil
}

// lockVolumes takes the locks of volumes and disks in the order of locks.
func (o *op) lockVolumes(volumes []diskVolume, disks []uint32) error {
	names := make([]string, 0, len(volumes)+len(disks))
	for _, v := range volumes {
		names = append(names, volumeLock(v.id))
	}
	slices.Sort(names)
	names = slices.Compact(names) // a volume may lie on several of the disks
	for _, number := range disks {
		names = append(names, diskLock(number))
	}
	for _, name := range names {
		if err := o.lock(name); err != nil {
			return err
		}
	}
	return nil
}

// forgetLogins removes the persistent logins to a target.
func (o *op) forgetLogins(name targetName) error {
	b, count, err := o.k.ISCSIPersistentLogins()
	defer clear(b) // there may be secrets behind the structures
	if err := o.unlessDone(err); err != nil {
		return o.failISCSI(err, "listing the persistent iSCSI logins")
	}
	logins, err := win32.ParsePersistentISCSILogins(b, count)
	if err != nil {
		return fail(err, "listing the persistent iSCSI logins")
	}
	for _, login := range logins {
		if parsed, err := parseTargetName(login.TargetName); err != nil || parsed != name {
			continue
		}
		err := o.unlessDone(o.k.RemoveISCSIPersistentTarget(login.Initiator, login.InitiatorPort, login.TargetName, login.Portal.Bytes()))
		if err != nil && !hasCode(err, win32.ISDSC_NOT_FOUND, win32.ISDSC_TARGET_NOT_FOUND) {
			return o.failISCSI(err, "forgetting the persistent login to the target %s", name)
		}
	}
	return nil
}
