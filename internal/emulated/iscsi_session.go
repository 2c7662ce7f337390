// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// iscsiPort is the number of the adapter that the disks of all sessions are on; each session is another target of it.
const iscsiPort = 2

// openSession makes a session, which appears in node.json together with its disks.
func (n *Node) openSession(t *ISCSITargetSpec, portal portalName, persistent bool) (iscsiSession, error) {
	session := iscsiSession{Known: iscsiKnown{t.Name, portal}, ID: n.state.ISCSI.LastID + 1}
	all := slices.Clone(n.state.Disks)
	address := freeTarget(all)
	for _, lun := range t.LUNs {
		record, err := lun.disk(address).Record(all, n.state.Switches.OfflineDisksReadOnly)
		if err != nil {
			return iscsiSession{}, err
		}
		record.Image = lun.Image
		if was := n.state.ISCSI.remembered(address, lun.LUN); was != nil {
			record.Offline, record.ReadOnly = was.Offline, was.ReadOnly
		}
		if _, err := os.Lstat(record.Home(n.dir)); errors.Is(err, os.ErrNotExist) { // its first session
			if _, err := bundle.Make(n.host, record.Home(n.dir), record, false); err != nil {
				return iscsiSession{}, err
			}
		}
		all = append(all, record)
		session.Images = append(session.Images, lun.Image)
	}
	err := n.addDisks(all[len(n.state.Disks):], func(s *state) {
		s.ISCSI.LastID = session.ID
		s.ISCSI.Sessions = append(s.ISCSI.Sessions, session)
		if persistent {
			s.ISCSI.Persistent = append(s.ISCSI.Persistent, session.Known)
		}
	})
	if err != nil {
		return iscsiSession{}, err
	}
	n.arriving[session.ID] = t.PendingQueries
	return session, nil
}

// freeTarget returns the lowest free target number of the adapter.
func freeTarget(disks []bundle.Record) (target uint8) {
	for target < 255 && slices.ContainsFunc(disks,
		func(d bundle.Record) bool { return d.Adapter == iscsiPort && d.Target == target }) {
		target++
	}
	return target
}

// closeSession removes a session and its disks, whatever is open or mounted. The images are kept.
func (n *Node) closeSession(session iscsiSession) error {
	return n.endSession(session, func(*state) {})
}

// endSession is closeSession with one more change of the state. The places of its disks keep their attributes.
func (n *Node) endSession(session iscsiSession, change func(*state)) error {
	disks := n.sessionDisks(session)
	return n.pull(disks, func(s *state) {
		change(s)
		for _, d := range disks {
			at := d.record.Spec
			s.ISCSI.Places = slices.DeleteFunc(s.ISCSI.Places, func(p iscsiPlace) bool { return p.is(at.Target, at.LUN) })
			s.ISCSI.Places = append(s.ISCSI.Places, iscsiPlace{at.Target, at.LUN, at.Offline, at.ReadOnly})
		}
		s.ISCSI.Sessions = slices.DeleteFunc(s.ISCSI.Sessions, func(o iscsiSession) bool { return o.ID == session.ID })
	})
}

// ErrNoSuchISCSI means that there is no portal or session of the name.
var ErrNoSuchISCSI = errors.New("no such iSCSI portal or session")

// holdTime is how long the initiator keeps the disks of a session whose connection is lost: MaxRequestHoldTime, in
// seconds, in the initiator's registry settings. On Windows requests wait meanwhile; here they are answered.
//
// https://learn.microsoft.com/archive/blogs/san/microsoft-iscsi-software-initiator-and-isns-server-timers-quick-reference
const holdTime = 60 * time.Second

// lost returns the index of a lost session, which the initiator goes on listing; -1 if there is none.
func (n *Node) lost(id win32.ISCSIUniqueID) int {
	return slices.IndexFunc(n.state.ISCSI.Lost, func(l iscsiLost) bool { return iscsiSession{ID: l.ID}.id() == id })
}

// iscsiOutage is the outage of a portal that is cut off.
type iscsiOutage struct {
	Portal portalName `json:"portal"`
	Since  time.Time  `json:"since"` // by the node's clock
}

// outage returns the outage of a portal, nil if the portal is connected.
func (s iscsiState) outage(name portalName) *iscsiOutage {
	return setting.Find(s.Outages, func(o *iscsiOutage) bool { return o.Portal.same(name) })
}

// SetISCSIPortal cuts a portal of the storage system off from the node, or connects it again: then the initiator
// restores the lost and the persistent sessions. It is idempotent. ErrNoSuchISCSI: there is no such portal.
func (n *Node) SetISCSIPortal(address string, port uint16, connected bool) error {
	name := portalName{address, port}
	return n.control(func() error {
		before := n.state.ISCSI
		if before.portal(name) == nil {
			return fmt.Errorf("portal %s port %d: %w", address, port, ErrNoSuchISCSI)
		}
		if (before.outage(name) == nil) == connected {
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
	wanted := slices.Clone(n.state.ISCSI.Lost)
	for _, k := range n.state.ISCSI.Persistent {
		wanted = append(wanted, iscsiLost{iscsiKnown: k})
	}
	for _, l := range wanted {
		if l.Portal.same(name) {
			if err := n.reopenSession(l); err != nil {
				return err
			}
		}
	}
	return n.update(func(s *state) {
		s.ISCSI.Lost = slices.DeleteFunc(s.ISCSI.Lost, func(l iscsiLost) bool { return l.Portal.same(name) })
	})
}

// reopenSession makes a session again, unless its portal is cut off, its target is gone or it is there already.
func (n *Node) reopenSession(l iscsiLost) error {
	portal := n.state.ISCSI.reachable(l.Portal)
	if portal == nil || portal.target(l.Target) == nil || n.sessionWith(l.Target) != nil {
		return nil
	}
	_, err := n.openSession(portal.target(l.Target), l.Portal, false)
	return err
}

func (n *Node) sessionWith(target string) *iscsiSession {
	return setting.Find(n.state.ISCSI.Sessions, func(o *iscsiSession) bool { return o.Known.of(target) })
}

// expireSessions removes the sessions, with their disks, whose portal has been cut off for too long.
func (n *Node) expireSessions() error {
	before := n.state
	if len(before.ISCSI.Outages) == 0 {
		return nil
	}
	now := before.Clock.now()
	for _, session := range before.ISCSI.Sessions {
		outage := before.ISCSI.outage(session.Known.Portal)
		if outage == nil || now.Before(outage.Since.Add(holdTime)) {
			continue
		}
		lost := iscsiLost{iscsiKnown: session.Known, ID: session.ID}
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
		lost := func(l iscsiLost) bool { return l.of(target) }
		if slices.ContainsFunc(n.state.ISCSI.Lost, lost) {
			return n.update(func(s *state) { s.ISCSI.Lost = slices.DeleteFunc(s.ISCSI.Lost, lost) })
		}
		session := n.sessionWith(target)
		if session == nil {
			return fmt.Errorf("session with target %s: %w", target, ErrNoSuchISCSI)
		}
		return n.closeSession(*session)
	})
}

// DefaultISCSIPort is the port of a portal without one (RFC 7143).
const DefaultISCSIPort = 3260
