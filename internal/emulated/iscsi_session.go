// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

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
