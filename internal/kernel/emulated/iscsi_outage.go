// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrNoSuchISCSI means that there is no portal or session of the name.
var ErrNoSuchISCSI = errors.New("no such iSCSI portal or session")

// holdTime is how long the initiator keeps the disks of a session whose connection is lost: MaxRequestHoldTime, in
// seconds, in the initiator's registry settings. On Windows requests wait meanwhile; here they are answered.
//
// https://learn.microsoft.com/archive/blogs/san/microsoft-iscsi-software-initiator-and-isns-server-timers-quick-reference
const holdTime = 60 * time.Second

// iscsiOutage is the outage of a portal that is cut off.
type iscsiOutage struct {
	Portal portalName `json:"portal"`
	Since  time.Time  `json:"since"` // by the node's clock
}

// outage returns the index of a portal's outage, -1 if the portal is connected.
func (s iscsiState) outage(name portalName) int {
	return slices.IndexFunc(s.Outages, func(o iscsiOutage) bool { return o.Portal.same(name) })
}

// SetISCSIPortal cuts a portal of the storage system off from the node, or connects it again: then the initiator restores
// the lost and the persistent sessions. It is idempotent. ErrNoSuchISCSI: there is no such portal.
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
	wanted := slices.DeleteFunc(slices.Concat(s.Lost, s.Persistent), func(k iscsiKnown) bool { return !k.Portal.same(name) })
	for _, k := range wanted {
		target, ok := portal.target(k.Target)
		if _, there := n.sessionWith(k.Target); !ok || there {
			continue
		}
		if _, err := n.openSession(target, k.Portal, false); err != nil {
			return err
		}
	}
	return n.update(func(s *state) {
		s.ISCSI.Lost = slices.DeleteFunc(s.ISCSI.Lost, func(k iscsiKnown) bool { return k.Portal.same(name) })
	})
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
		if err := n.update(func(s *state) { s.ISCSI.Lost = append(s.ISCSI.Lost, session.Known) }); err != nil {
			return err
		}
		if err := n.closeSession(session); err != nil {
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
		session, ok := n.sessionWith(target)
		if !ok {
			return fmt.Errorf("session with target %s: %w", target, ErrNoSuchISCSI)
		}
		return n.closeSession(session)
	})
}

// DefaultISCSIPort is the port of a portal without one (RFC 7143).
const DefaultISCSIPort = 3260
