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
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// openSession makes a session, which appears in node.json together with its disks.
func (c *initiator) openSession(t *iscsi.Target, portal iscsi.Endpoint, persistent bool) (iscsi.Session, error) {
	session := iscsi.Session{Known: iscsi.Known{Target: t.Name, Portal: portal}, ID: c.node.state.ISCSI.LastID + 1}
	all := slices.Clone(c.node.state.Disks)
	address := iscsi.FreeTarget(all)
	for _, lun := range t.LUNs {
		record, err := lun.Disk(address).Record(all, c.node.state.Switches.OfflineDisksReadOnly)
		if err != nil {
			return iscsi.Session{}, err
		}
		record.Image = lun.Image
		if was := c.node.state.ISCSI.Remembered(address, lun.LUN); was != nil {
			record.Offline, record.ReadOnly = was.Offline, was.ReadOnly
		}
		if _, err := os.Lstat(record.Home(c.node.dir)); errors.Is(err, os.ErrNotExist) { // its first session
			if _, err := bundle.Make(c.node.host, record.Home(c.node.dir), record, false); err != nil {
				return iscsi.Session{}, err
			}
		}
		all = append(all, record)
		session.Images = append(session.Images, lun.Image)
	}
	err := c.node.addDisks(all[len(c.node.state.Disks):], func(s *state) {
		s.ISCSI.LastID = session.ID
		s.ISCSI.Sessions = append(s.ISCSI.Sessions, session)
		if persistent {
			s.ISCSI.Persistent = append(s.ISCSI.Persistent, session.Known)
		}
	})
	if err != nil {
		return iscsi.Session{}, err
	}
	c.arriving[session.ID] = t.PendingQueries
	return session, nil
}

// closeSession removes a session and its disks, whatever is open or mounted. The images are kept.
func (c *initiator) closeSession(session iscsi.Session) error {
	return c.endSession(session, func(*state) {})
}

// endSession is closeSession with one more change of the state. The places of its disks keep their attributes.
func (c *initiator) endSession(session iscsi.Session, change func(*state)) error {
	disks := c.sessionDisks(session)
	return c.node.pull(disks, func(s *state) {
		change(s)
		for _, d := range disks {
			at := d.record.Spec
			s.ISCSI.Places = slices.DeleteFunc(s.ISCSI.Places, func(p iscsi.Place) bool { return p.Is(at.Target, at.LUN) })
			s.ISCSI.Places = append(s.ISCSI.Places,
				iscsi.Place{Target: at.Target, LUN: at.LUN, Offline: at.Offline, ReadOnly: at.ReadOnly})
		}
		s.ISCSI.Sessions = slices.DeleteFunc(s.ISCSI.Sessions, func(o iscsi.Session) bool { return o.ID == session.ID })
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
func (c *initiator) lost(id win32.ISCSIUniqueID) int {
	return slices.IndexFunc(c.node.state.ISCSI.Lost,
		func(l iscsi.Lost) bool { return iscsi.Session{ID: l.ID}.UniqueID() == id })
}

// SetISCSIPortal cuts a portal of the storage system off from the node, or connects it again: then the initiator
// restores the lost and the persistent sessions. It is idempotent. ErrNoSuchISCSI: there is no such portal.
func (c *initiator) SetISCSIPortal(address string, port uint16, connected bool) error {
	name := iscsi.Endpoint{Address: address, Port: port}
	return c.node.control(func() error {
		before := c.node.state.ISCSI
		if before.Portal(name) == nil {
			return fmt.Errorf("portal %s port %d: %w", address, port, ErrNoSuchISCSI)
		}
		if (before.Outage(name) == nil) == connected {
			return nil
		}
		if err := c.expireSessions(); err != nil { // sessions that were cut off for too long are lost, connected again or not
			return err
		}
		err := c.node.update(func(s *state) {
			s.ISCSI.Outages = slices.DeleteFunc(s.ISCSI.Outages, func(o iscsi.Outage) bool { return o.Portal.Same(name) })
			if !connected {
				s.ISCSI.Outages = append(s.ISCSI.Outages, iscsi.Outage{Portal: name, Since: s.Clock.now().Round(0)})
			}
		})
		if err != nil || !connected {
			return err
		}
		return c.reconnectSessions(name)
	})
}

// reconnectSessions makes the lost and persistent sessions with a portal again.
func (c *initiator) reconnectSessions(name iscsi.Endpoint) error {
	wanted := slices.Clone(c.node.state.ISCSI.Lost)
	for _, k := range c.node.state.ISCSI.Persistent {
		wanted = append(wanted, iscsi.Lost{Known: k})
	}
	for _, l := range wanted {
		if l.Portal.Same(name) {
			if err := c.reopenSession(l); err != nil {
				return err
			}
		}
	}
	return c.node.update(func(s *state) {
		s.ISCSI.Lost = slices.DeleteFunc(s.ISCSI.Lost, func(l iscsi.Lost) bool { return l.Portal.Same(name) })
	})
}

// reopenSession makes a session again, unless its portal is cut off, its target is gone or it is there already.
func (c *initiator) reopenSession(l iscsi.Lost) error {
	portal := c.node.state.ISCSI.Reachable(l.Portal)
	if portal == nil || portal.Target(l.Target) == nil || c.sessionWith(l.Target) != nil {
		return nil
	}
	_, err := c.openSession(portal.Target(l.Target), l.Portal, false)
	return err
}

func (c *initiator) sessionWith(target string) *iscsi.Session {
	return setting.Find(c.node.state.ISCSI.Sessions, func(o *iscsi.Session) bool { return o.Known.Of(target) })
}

// expireSessions removes the sessions, with their disks, whose portal has been cut off for too long.
func (c *initiator) expireSessions() error {
	before := c.node.state
	now := before.Clock.now()
	for _, session := range before.ISCSI.Sessions {
		outage := before.ISCSI.Outage(session.Known.Portal)
		if outage == nil || now.Before(outage.Since.Add(holdTime)) {
			continue
		}
		lost := iscsi.Lost{Known: session.Known, ID: session.ID}
		if err := c.endSession(session, func(s *state) { s.ISCSI.Lost = append(s.ISCSI.Lost, lost) }); err != nil {
			return err
		}
	}
	return nil
}

// passTime applies what is due by the node's clock before a caller looks for disks.
func (c *initiator) passTime() error {
	if len(c.node.state.ISCSI.Outages) == 0 {
		return nil
	}
	defer c.node.retireGone()
	return c.expireSessions()
}

// DropISCSISession ends the session with a target, whatever uses its disks: surprise removal. It is not restored.
// ErrNoSuchISCSI: there is no such session.
func (c *initiator) DropISCSISession(target string) error {
	return c.node.control(func() error {
		lost := func(l iscsi.Lost) bool { return l.Of(target) }
		if slices.ContainsFunc(c.node.state.ISCSI.Lost, lost) {
			return c.node.update(func(s *state) { s.ISCSI.Lost = slices.DeleteFunc(s.ISCSI.Lost, lost) })
		}
		session := c.sessionWith(target)
		if session == nil {
			return fmt.Errorf("session with target %s: %w", target, ErrNoSuchISCSI)
		}
		return c.closeSession(*session)
	})
}
