// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrInvalidClock means that the clock cannot be set to a time.
var ErrInvalidClock = errors.New("invalid time")

// clockState is how the node's clock differs from the host's. The zero value is the host's clock.
type clockState struct {
	Ahead   time.Duration `json:"ahead,omitempty"`
	Stopped time.Time     `json:"stopped,omitzero"` // the time that a stopped clock shows; zero: it runs
}

func (c clockState) now() time.Time {
	if !c.Stopped.IsZero() {
		return c.Stopped
	}
	return time.Now().Add(c.Ahead)
}

// ClockChange is a change of the clock, made in the order of the fields.
type ClockChange struct {
	To      time.Time     // the new time; zero: the current time
	Advance time.Duration // how far to move the clock forward
	Stopped *bool         // whether to stop or start the clock; nil: neither
}

// Clock reads the node's clock, whose setting survives restarts of the agent and reboots of the node.
//
// Pending services (ServiceSpec.PendingTime), sessions with iSCSI portals that are cut off, the times of files and
// directories that are made through the kernel, and calls that take time (Switches.Timing) go by this clock. The
// agent's own deadlines do not.
func (n *Node) Clock() (now time.Time, stopped bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.state.Clock
	return c.now(), !c.Stopped.IsZero()
}

// SetClock changes the node's clock. Everything due by the new time has happened when it returns. ErrInvalidClock: the
// time is before 1980, where FAT begins, or after 2199, or Advance is negative or more than a century.
func (n *Node) SetClock(change ClockChange) (now time.Time, err error) {
	const most = 100 * 365 * 24 * time.Hour
	if change.Advance < 0 || change.Advance > most {
		return now, fmt.Errorf("%w: the clock can be advanced by 0 to 100 years, not by %v", ErrInvalidClock, change.Advance)
	}
	err = n.control(func() error {
		now = n.state.Clock.now()
		if !change.To.IsZero() {
			now = change.To
		}
		now = now.Add(change.Advance).Round(0) // without the monotonic reading, which no file keeps
		if now.Year() < 1980 || now.Year() > 2199 {
			return fmt.Errorf("%w: the year %d is not within 1980 to 2199", ErrInvalidClock, now.Year())
		}
		stopped := !n.state.Clock.Stopped.IsZero()
		set(&stopped, change.Stopped)
		next := clockState{Ahead: now.Sub(time.Now().Round(0))}
		if stopped {
			next = clockState{Stopped: now}
		}
		if err := n.update(func(s *state) { s.Clock = next }); err != nil {
			return err
		}
		n.retime()
		return n.expireSessions()
	})
	if err != nil {
		return time.Time{}, err
	}
	return now, nil
}

// stamp gives a new file the node's time, if it differs from the host's.
func (n *Node) stamp(dir *os.Root, name string) error {
	c := n.state.Clock
	if c == (clockState{}) {
		return nil
	}
	return n.host.changeIn(dir, name, "chtimes", func() error { return dir.Chtimes(name, c.now(), c.now()) })
}
