// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"slices"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
)

// ISCSISessionList implements kernel.ISCSI. Each session has one connection, or none.
func (n *Node) ISCSISessionList() (list kernel.ISCSISessions, err error) {
	const base = 0x000001D4A2F30000 // any address
	err = n.withISCSI("GetIScsiSessionListW", "", func(s iscsiState) error {
		var sessions []win32.ISCSISession
		for _, one := range s.Sessions {
			sessions = append(sessions, one.listed(s.outage(one.Known.Portal) == nil))
		}
		for _, l := range s.Lost {
			sessions = append(sessions, iscsiSession{Known: l.iscsiKnown, ID: l.ID}.listed(false))
		}
		list = kernel.ISCSISessions{Buffer: deviceside.ISCSISessionList(sessions, base), Base: base, Count: len(sessions)}
		return nil
	})
	return list, err
}

func (s iscsiSession) listed(connected bool) win32.ISCSISession {
	session := win32.ISCSISession{
		ID: s.id(), InitiatorName: iscsiInitiator, TargetNodeName: s.Known.Target, TargetName: s.Known.Target,
		ISID: [6]byte{0x40, 0, 1, 0x37, 0, byte(s.ID)}, TSID: [2]byte{0, byte(s.ID)},
	}
	if connected {
		session.Connections = []win32.ISCSIConnection{{
			ID: s.id(), InitiatorAddress: "192.0.2.1", TargetAddress: s.Known.Portal.Address,
			InitiatorSocket: 49152 + uint16(s.ID%16384), TargetSocket: s.Known.Portal.Port, CID: [2]byte{1},
		}}
	}
	return session
}

// DevicesForISCSISession implements kernel.ISCSI. A lost session has none.
func (n *Node) DevicesForISCSISession(id win32.ISCSIUniqueID) (devices []byte, count int, err error) {
	err = n.withISCSI("GetDevicesForIScsiSessionW", "", func(s iscsiState) error {
		if n.lost(id) >= 0 {
			return nil
		}
		session := s.session(id)
		if session == nil {
			return win32.ISDSC_INVALID_SESSION_ID
		}
		arrived := n.iscsiArrived(session.ID)
		for _, d := range n.sessionDisks(*session) {
			device := win32.ISCSIDevice{
				InitiatorName: iscsiAdapter, TargetName: session.Known.Target,
				Address: win32.SCSIAddress{PortNumber: d.record.Adapter, PathID: d.record.Bus,
					TargetID: d.record.Target, LUN: d.record.LUN},
				InterfaceType: guid.GUID{Data1: 0x53F56307, Data2: 0xB6BF, Data3: 0x11D0,
					Data4: [8]byte{0x94, 0xF2, 0x00, 0xA0, 0xC9, 0x1E, 0xFB, 0x8B}},
				Number: win32.StorageDeviceNumber{DeviceType: win32.FILE_DEVICE_DISK, DeviceNumber: d.number},
			}
			if arrived {
				device.InterfaceName = d.interfacePath()
				device.LegacyName = fmt.Sprintf(`\\.\PhysicalDrive%d`, d.number)
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

// iscsiArrived reports whether the devices of a session have their numbers by now, and counts the query.
func (n *Node) iscsiArrived(session uint64) bool {
	if n.arriving[session] == 0 {
		return true
	}
	n.arriving[session]--
	return false
}

// sessionDisks returns the attached disks of a session.
func (n *Node) sessionDisks(s iscsiSession) []*disk {
	return slices.DeleteFunc(n.diskList(), func(d *disk) bool { return !slices.Contains(s.Images, d.record.Image) })
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
	err = n.withISCSI("LoginIScsiTargetW", login.Target, func(s iscsiState) error {
		if !slices.ContainsFunc(s.Known, func(k iscsiKnown) bool { return k.of(login.Target) }) {
			return win32.ISDSC_TARGET_NOT_FOUND
		}
		if slices.ContainsFunc(s.Lost, func(l iscsiLost) bool { return l.of(login.Target) }) {
			return win32.ISDSC_TARGET_ALREADY_LOGGED_IN
		}
		portal, err := s.parsePortal(login.Portal)
		if err != nil {
			return err
		}
		target := portal.target(login.Target)
		switch {
		case target == nil:
			return win32.ISDSC_TARGET_NOT_FOUND
		case n.sessionWith(target.Name) != nil:
			return win32.ISDSC_TARGET_ALREADY_LOGGED_IN
		}
		if err := s.authenticate(target, login); err != nil {
			return err
		}
		session, err := n.openSession(target, portal.At, persistent)
		id = session.id()
		return err
	})
	return id, err
}

// authenticate is the login phase between the initiator and the target. A target without authentication also accepts an
// initiator that offers CHAP.
func (s iscsiState) authenticate(t *ISCSITargetSpec, login kernel.ISCSILogin) error {
	given := func(bit uint32) bool { return login.InformationSpecified&bit != 0 }
	method, user, secret := uint32(win32.ISCSI_NO_AUTH_TYPE), iscsiInitiator, []byte(nil)
	if given(win32.ISCSI_LOGIN_OPTIONS_AUTH_TYPE) {
		method = login.AuthType
	}
	if given(win32.ISCSI_LOGIN_OPTIONS_USERNAME) {
		user = login.Username
	}
	if given(win32.ISCSI_LOGIN_OPTIONS_PASSWORD) {
		secret = login.Password
	}
	switch {
	case method > win32.ISCSI_MUTUAL_CHAP_AUTH_TYPE:
		return win32.ISDSC_INVALID_LOGON_AUTH_TYPE
	case method != win32.ISCSI_NO_AUTH_TYPE && (len(secret) < minCHAPSecret || len(secret) > maxCHAPSecret):
		return win32.ISDSC_INVALID_TARGET_CHAP_SECRET
	case t.Secret == "":
		return nil
	case method == win32.ISCSI_NO_AUTH_TYPE || user != t.Username || string(secret) != t.Secret:
		return win32.ISDSC_AUTHENTICATION_FAILURE
	case method == win32.ISCSI_CHAP_AUTH_TYPE:
		return nil
	case s.Mutual == nil:
		return win32.ISDSC_NO_AUTH_INFO_AVAILABLE
	case t.MutualSecret == "" || !s.Mutual.is([]byte(t.MutualSecret)):
		return win32.ISDSC_AUTHENTICATION_FAILURE
	}
	return nil
}

// LogoutISCSITarget implements kernel.ISCSI. Volumes that are open or mounted at a directory keep the session; volumes
// with only a drive letter do not. Whether Windows considers mount points here is not confirmed.
func (n *Node) LogoutISCSITarget(id win32.ISCSIUniqueID) error {
	return n.withISCSI("LogoutIScsiTarget", "", func(s iscsiState) error {
		if i := n.lost(id); i >= 0 {
			return n.update(func(s *state) { s.ISCSI.Lost = slices.Delete(s.ISCSI.Lost, i, i+1) })
		}
		session := s.session(id)
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
		return d.open[v.id] != nil || n.filesOpen(v) ||
			slices.ContainsFunc(n.state.Mounts, func(m mountState) bool { return m.Volume == v.id && !n.isStale(m) })
	})
}

// rebootISCSI ends all sessions, whatever is in use, and makes the persistent ones again without asking for secrets.
// Disks may come back with other numbers.
func (n *Node) rebootISCSI() error {
	for _, session := range n.state.ISCSI.Sessions {
		if err := n.closeSession(session); err != nil {
			return err
		}
	}
	if len(n.state.ISCSI.Lost) > 0 { // only persistent sessions survive
		if err := n.update(func(s *state) { s.ISCSI.Lost = nil }); err != nil {
			return err
		}
	}
	err := n.whileServiceRuns(func(s iscsiState) error {
		for _, k := range s.Persistent {
			if err := n.reopenSession(iscsiLost{iscsiKnown: k}); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, win32.ISDSC_SERVICE_NOT_RUNNING) {
		return nil
	}
	return err
}
