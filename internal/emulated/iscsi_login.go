// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"fmt"
	"slices"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
)

// ISCSISessionList implements kernel.ISCSI. Each session has one connection, or none.
func (n *Node) ISCSISessionList() (list kernel.ISCSISessions, err error) {
	const base = 0x000001D4A2F30000 // any address
	err = n.withISCSI("GetIScsiSessionListW", "", func(s iscsi.State) error {
		var sessions []win32.ISCSISession
		for _, one := range s.Sessions {
			sessions = append(sessions, one.Listed(s.Reachable(one.Known.Portal) != nil))
		}
		list = kernel.ISCSISessions{Buffer: deviceside.ISCSISessionList(sessions, base), Base: base, Count: len(sessions)}
		return nil
	})
	return list, err
}

// DevicesForISCSISession implements kernel.ISCSI. A session whose portal is cut off has none.
func (n *Node) DevicesForISCSISession(id win32.ISCSIUniqueID) (devices []byte, count int, err error) {
	err = n.withISCSI("GetDevicesForIScsiSessionW", "", func(s iscsi.State) error {
		session := s.Session(id)
		if session == nil {
			return win32.ISDSC_INVALID_SESSION_ID
		}
		arrived := n.arriving[session.ID] == 0
		if !arrived {
			n.arriving[session.ID]--
		}
		for _, d := range n.sessionDisks(*session) {
			device := win32.ISCSIDevice{
				InitiatorName: iscsi.AdapterName, TargetName: session.Known.Target,
				Address: d.address(),
				InterfaceType: guid.GUID{Data1: 0x53F56307, Data2: 0xB6BF, Data3: 0x11D0,
					Data4: [8]byte{0x94, 0xF2, 0x00, 0xA0, 0xC9, 0x1E, 0xFB, 0x8B}},
				Number: win32.StorageDeviceNumber{DeviceType: win32.FILE_DEVICE_DISK, DeviceNumber: d.record.Number},
			}
			if arrived {
				device.InterfaceName = d.path
				device.LegacyName = fmt.Sprintf(`\\.\PhysicalDrive%d`, d.record.Number)
			} else {
				device.Number.DeviceNumber = 0xFFFFFFFF
			}
			devices = append(devices, deviceside.ISCSIDevice(device)...)
			count++
		}
		return nil
	})
	return devices, count, err
}

// sessionDisks returns the attached disks of a session.
func (n *Node) sessionDisks(s iscsi.Session) []*disk {
	return slices.DeleteFunc(n.disks.list(),
		func(d *disk) bool { return !slices.Contains(s.Images, d.record.Image) })
}

// LoginISCSITarget implements kernel.ISCSI.
func (n *Node) LoginISCSITarget(login kernel.ISCSILogin) (win32.ISCSIUniqueID, error) {
	return n.logIn(login, false)
}

// LogInISCSITargetForGood logs in as an administrator may do: the session comes back after each reboot.
func (n *Node) LogInISCSITargetForGood(login kernel.ISCSILogin) error {
	_, err := n.logIn(login, true)
	return err
}

func (n *Node) logIn(login kernel.ISCSILogin, persistent bool) (id win32.ISCSIUniqueID, err error) {
	err = n.withISCSI("LoginIScsiTargetW", login.Target, func(s iscsi.State) error {
		if _, err := s.Found(login.Target); err != nil {
			return err
		}
		if n.sessionWith(login.Target) != nil {
			return win32.ISDSC_TARGET_ALREADY_LOGGED_IN
		}
		portal, err := s.ParsePortal(login.Portal)
		if err != nil {
			return err
		}
		target := portal.Target(login.Target)
		if target == nil {
			return win32.ISDSC_TARGET_NOT_FOUND
		}
		if err := s.Authenticate(target, login); err != nil {
			return err
		}
		k := iscsi.Known{Target: target.Name, Portal: portal.At}
		session, err := n.openSession(iscsi.Session{Known: k}, target, persistent)
		id = session.UniqueID()
		return err
	})
	return id, err
}

// LogoutISCSITarget implements kernel.ISCSI. Volumes that are open or mounted at a directory keep the session; volumes
// with only a drive letter do not. Whether Windows considers mount points here is not confirmed.
func (n *Node) LogoutISCSITarget(id win32.ISCSIUniqueID) error {
	return n.withISCSI("LogoutIScsiTarget", "", func(s iscsi.State) error {
		session := s.Session(id)
		switch {
		case session == nil:
			return win32.ISDSC_INVALID_SESSION_ID
		case slices.ContainsFunc(n.sessionDisks(*session), n.inUse):
			return win32.ISDSC_DEVICE_BUSY_ON_SESSION
		}
		return n.closeSession(*session)
	})
}

// inUse reports whether a volume of the disk is mounted at a directory or open.
func (n *Node) inUse(d *disk) bool {
	return slices.ContainsFunc(d.volumes, func(v *volume) bool {
		return len(d.open[v.id]) > 0 || n.contents.open(v) ||
			slices.ContainsFunc(n.state.Mounts, func(m mountState) bool { return m.Volume == v.id && !n.isStale(m) })
	})
}

// rebootISCSI ends all sessions, whatever is in use, and makes the persistent ones again. Disks may come back with other
// numbers.
func (n *Node) rebootISCSI() error {
	for _, session := range n.state.ISCSI.Sessions {
		if err := n.closeSession(session); err != nil {
			return err
		}
	}
	if !n.iscsiRuns() {
		return nil
	}
	return n.reconnect(func(iscsi.Endpoint) bool { return true })
}
