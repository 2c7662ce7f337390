// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// ErrNoSuchISCSI means that there is no portal or session of the name.
var ErrNoSuchISCSI = errors.New("no such iSCSI portal or session")

// holdTime is how long the initiator keeps the disks of a session whose connection is lost: MaxRequestHoldTime, in
// seconds, in the initiator's registry settings. On Windows requests wait meanwhile; here they are answered.
//
// https://learn.microsoft.com/archive/blogs/san/microsoft-iscsi-software-initiator-and-isns-server-timers-quick-reference
const holdTime = 60 * time.Second

// listsLost reports whether the initiator lists sessions that have lost their disks.
func (s Switches) listsLost() bool { return s.LostSessions != LostSessionsUnlisted }

// lost returns the index of a lost session that the initiator lists, -1 if there is none.
func (n *Node) lost(id win32.ISCSIUniqueID) int {
	if !n.state.Switches.listsLost() {
		return -1
	}
	return slices.IndexFunc(n.state.ISCSI.Lost, func(l iscsiLost) bool { return iscsiSession{ID: l.ID}.id() == id })
}

// iscsiOutage is the outage of a portal that is cut off.
type iscsiOutage struct {
	Portal portalName `json:"portal"`
	Since  time.Time  `json:"since"` // by the node's clock
}

// outage returns the index of a portal's outage, -1 if the portal is connected.
func (s iscsiState) outage(name portalName) int {
	return slices.IndexFunc(s.Outages, func(o iscsiOutage) bool { return o.Portal.same(name) })
}

// SetISCSIPortal cuts a portal of the storage system off from the node, or connects it again: then the initiator
// restores the lost and the persistent sessions. It is idempotent. ErrNoSuchISCSI: there is no such portal.
func (n *Node) SetISCSIPortal(address string, port uint16, connected bool) error {
	name := portalName{address, port}
	return n.control(func() error {
		before := n.state.ISCSI
		if before.portal(name) < 0 {
			return fmt.Errorf("portal %s port %d: %w", address, port, ErrNoSuchISCSI)
		}
		if i := before.outage(name); (i < 0) == connected {
			return nil
		}
		if err := n.expireSessions(); err != nil { // sessions that were cut off for too long are lost, connected again or not
			return err
		}
		err := n.update(func(s *state) {
			s.ISCSI.Outages = slices.DeleteFunc(s.ISCSI.Outages, func(o iscsiOutage) bool { return o.Portal.same(name) })
			if !connected {
				s.ISCSI.Outages = append(s.ISCSI.Outages, iscsiOutage{name, s.Clock.now().Round(0)})
			}
		})
		if err != nil || !connected {
			return err
		}
		return n.reconnectSessions(name)
	})
}

// reconnectSessions makes the lost and persistent sessions with a portal again.
func (n *Node) reconnectSessions(name portalName) error {
	s := n.state.ISCSI
	portal, ok := s.reachable(name)
	if !ok {
		return nil
	}
	wanted := slices.Clone(s.Lost)
	for _, k := range s.Persistent {
		wanted = append(wanted, iscsiLost{iscsiKnown: k})
	}
	for _, l := range wanted {
		if !l.Portal.same(name) {
			continue
		}
		target, ok := portal.target(l.Target)
		if _, there := n.sessionWith(l.Target); !ok || there {
			continue
		}
		session, err := n.openSession(target, l.Portal, false)
		if err != nil {
			return err
		}
		if err := n.setAsBefore(session, l.Disks); err != nil {
			return err
		}
	}
	return n.update(func(s *state) {
		s.ISCSI.Lost = slices.DeleteFunc(s.ISCSI.Lost, func(l iscsiLost) bool { return l.Portal.same(name) })
	})
}

// setAsBefore brings the disks of a session online that were so before. Windows keeps that for a disk that comes back:
// https://docs.ceph.com/en/latest/rbd/rbd-windows/ (SAN policy), which names iSCSI disks, too.
func (n *Node) setAsBefore(session iscsiSession, before []lostDisk) error {
	for _, d := range n.sessionDisks(session) {
		i := slices.IndexFunc(before, func(b lostDisk) bool { return b.Image == d.record.Image })
		if i < 0 {
			continue
		}
		if err := d.setAttributes(before[i].Offline, before[i].ReadOnly); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) sessionWith(target string) (iscsiSession, bool) {
	all := n.state.ISCSI.Sessions
	i := slices.IndexFunc(all, func(o iscsiSession) bool { return strings.EqualFold(o.Known.Target, target) })
	if i < 0 {
		return iscsiSession{}, false
	}
	return all[i], true
}

// expireSessions removes the sessions, with their disks, whose portal has been cut off for too long.
func (n *Node) expireSessions() error {
	before := n.state
	if len(before.ISCSI.Outages) == 0 {
		return nil
	}
	now := before.Clock.now()
	for _, session := range before.ISCSI.Sessions {
		i := before.ISCSI.outage(session.Known.Portal)
		if i < 0 || now.Before(before.ISCSI.Outages[i].Since.Add(holdTime)) {
			continue
		}
		lost := iscsiLost{iscsiKnown: session.Known, ID: session.ID}
		for _, d := range n.sessionDisks(session) {
			lost.Disks = append(lost.Disks, lostDisk{d.record.Image, d.record.Offline, d.record.ReadOnly})
		}
		if err := n.endSession(session, func(s *state) { s.ISCSI.Lost = append(s.ISCSI.Lost, lost) }); err != nil {
			return err
		}
	}
	return nil
}

// passTime applies what is due by the node's clock before a caller looks for disks.
func (n *Node) passTime() error {
	if len(n.state.ISCSI.Outages) == 0 {
		return nil
	}
	defer n.retireGone()
	return n.expireSessions()
}

// DropISCSISession ends the session with a target, whatever uses its disks: surprise removal. It is not restored.
// ErrNoSuchISCSI: there is no such session.
func (n *Node) DropISCSISession(target string) error {
	return n.control(func() error {
		lost := func(l iscsiLost) bool { return strings.EqualFold(l.Target, target) }
		if slices.ContainsFunc(n.state.ISCSI.Lost, lost) {
			return n.update(func(s *state) { s.ISCSI.Lost = slices.DeleteFunc(s.ISCSI.Lost, lost) })
		}
		session, ok := n.sessionWith(target)
		if !ok {
			return fmt.Errorf("session with target %s: %w", target, ErrNoSuchISCSI)
		}
		return n.closeSession(session)
	})
}

// DefaultISCSIPort is the port of a portal without one (RFC 7143).
const DefaultISCSIPort = 3260
