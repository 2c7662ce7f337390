// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
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
				Number: win32.StorageDeviceNumber{DeviceType: win32.FILE_DEVICE_DISK, DeviceNumber: 0xFFFFFFFF}}
			if arrived {
				device.InterfaceName, device.Number.DeviceNumber = d.path, d.record.Number
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
		return len(d.open[v.ID]) > 0 || n.contents.open(v) ||
			slices.ContainsFunc(n.state.Mounts, func(m mountState) bool { return m.Volume == v.ID && !n.isStale(m) })
	})
}

// rebootISCSI ends all sessions, whatever is in use, and makes the persistent ones again. Disks may come back with
// other numbers.
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

// openSession makes a session, which has no id yet, or gives one its disks again. It appears in node.json together with
// its disks.
func (n *Node) openSession(session iscsi.Session, t *iscsi.Target, persistent bool) (iscsi.Session, error) {
	if session.ID == 0 {
		session.ID = n.state.ISCSI.LastID + 1
	}
	all := slices.Clone(n.state.Disks)
	address := iscsi.FreeTarget(all)
	for _, lun := range t.LUNs {
		record, err := lun.Disk(address).Record(all, n.state.Switches.OfflineDisksReadOnly)
		if err != nil {
			return session, err
		}
		record.Image = lun.Image
		if was := n.state.ISCSI.Remembered(address, lun.LUN); was != nil {
			record.Offline, record.ReadOnly = was.Offline, was.ReadOnly
		}
		if _, err := os.Lstat(record.Home(n.dir)); errors.Is(err, os.ErrNotExist) { // its first session
			if _, err := bundle.Make(n.host, record.Home(n.dir), record, false); err != nil {
				return session, err
			}
		}
		all = append(all, record)
		session.Images = append(session.Images, lun.Image)
	}
	err := n.addDisks(all[len(n.state.Disks):], func(s *state) {
		s.ISCSI.LastID = max(s.ISCSI.LastID, session.ID)
		s.ISCSI.Sessions = append(slices.DeleteFunc(s.ISCSI.Sessions, session.Same), session)
		if persistent {
			s.ISCSI.Persistent = append(s.ISCSI.Persistent, session.Known)
		}
	})
	if err == nil {
		n.arriving[session.ID] = t.PendingQueries
	}
	return session, err
}

// closeSession removes a session and its disks, whatever is open or mounted. The images are kept.
func (n *Node) closeSession(session iscsi.Session) error {
	return n.pullDisks(n.sessionDisks(session), func(s *iscsi.State) {
		s.Sessions = slices.DeleteFunc(s.Sessions, session.Same)
	})
}

// pullDisks removes disks of sessions, in one update with another change. Their places keep their attributes.
func (n *Node) pullDisks(disks []*disk, change func(*iscsi.State)) error {
	return n.pull(disks, func(s *state) {
		for _, d := range disks {
			at := d.record.Spec
			s.ISCSI.Places = slices.DeleteFunc(s.ISCSI.Places, func(p iscsi.Place) bool { return p.Is(at.Target, at.LUN) })
			s.ISCSI.Places = append(s.ISCSI.Places,
				iscsi.Place{Target: at.Target, LUN: at.LUN, Offline: at.Offline, ReadOnly: at.ReadOnly})
		}
		change(&s.ISCSI)
	})
}

// SetISCSIPortal cuts a portal of the storage system off from the node, or connects it again: then the initiator
// restores the sessions with it, and the persistent ones. It is idempotent. NOT_FOUND: the node lacks this portal.
func (n *Node) SetISCSIPortal(address string, port uint16, connected bool) error {
	defer n.control()()
	name := iscsi.Endpoint{Address: address, Port: port}
	switch s := n.state.ISCSI; {
	case s.Portal(name) == nil:
		return errdefs.NotFound.Errorf("NOT_FOUND", "portal %s port %d: no such iSCSI portal", address, port)
	case connected:
		return n.connectPortal(name)
	case s.Reachable(name) == nil:
		return nil
	}
	return n.cutOff(name)
}

// cutOff takes the disks of all sessions with a portal. Windows does so after MaxRequestHoldTime, a minute, and goes on
// listing the sessions, without a connection.
//
// https://learn.microsoft.com/archive/blogs/san/microsoft-iscsi-software-initiator-and-isns-server-timers-quick-reference
func (n *Node) cutOff(name iscsi.Endpoint) error {
	var disks []*disk
	for _, session := range n.state.ISCSI.Sessions {
		if session.Known.Portal.Same(name) {
			disks = append(disks, n.sessionDisks(session)...)
		}
	}
	return n.pullDisks(disks, func(s *iscsi.State) {
		s.CutOff = append(s.CutOff, name)
		for i := range s.Sessions {
			if s.Sessions[i].Known.Portal.Same(name) {
				s.Sessions[i].Images = nil
			}
		}
	})
}

// connectPortal connects a portal and makes the sessions with it again, also those that an earlier try left out.
func (n *Node) connectPortal(name iscsi.Endpoint) error {
	if n.state.ISCSI.Reachable(name) == nil {
		err := n.update(func(s *state) { s.ISCSI.CutOff = slices.DeleteFunc(s.ISCSI.CutOff, name.Same) })
		if err != nil {
			return err
		}
	}
	return n.reconnect(name.Same)
}

// reconnect makes the sessions with some portals again that have lost their disks, and those of persistent logins,
// without asking for secrets. One whose portal is cut off or whose target is gone is left out.
func (n *Node) reconnect(with func(iscsi.Endpoint) bool) error {
	all := slices.Clone(n.state.ISCSI.Sessions)
	for _, k := range n.state.ISCSI.Persistent {
		all = append(all, iscsi.Session{Known: k})
	}
	for _, session := range all {
		to := session.Known
		portal := n.state.ISCSI.Reachable(to.Portal)
		there := len(session.Images) > 0 || session.ID == 0 && n.sessionWith(to.Target) != nil
		if there || !with(to.Portal) || portal == nil || portal.Target(to.Target) == nil {
			continue
		}
		if _, err := n.openSession(session, portal.Target(to.Target), false); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) sessionWith(target string) *iscsi.Session {
	return setting.Find(n.state.ISCSI.Sessions, func(o *iscsi.Session) bool { return o.Known.Of(target) })
}

// DropISCSISession ends the session with a target, whatever uses its disks: surprise removal. It is not restored.
// NOT_FOUND: there is no such session.
func (n *Node) DropISCSISession(target string) error {
	defer n.control()()
	session := n.sessionWith(target)
	if session == nil {
		return errdefs.NotFound.Errorf("NOT_FOUND", "target %s: no such iSCSI session", target)
	}
	return n.closeSession(*session)
}
