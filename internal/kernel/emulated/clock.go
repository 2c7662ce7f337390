// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrInvalidClock says that the clock cannot be set so.
var ErrInvalidClock = errors.New("invalid time")

// clockState is how the node's clock differs from the host's. The zero value is the host's clock.
type clockState struct {
	Ahead   time.Duration `json:"ahead,omitempty"`
	Stopped time.Time     `json:"stopped,omitzero"` // what it shows while it stands; zero: it goes
}

func (c clockState) now() time.Time {
	if !c.Stopped.IsZero() {
		return c.Stopped
	}
	return time.Now().Add(c.Ahead)
}

// ClockChange is what SetClock does, in the order of the fields.
type ClockChange struct {
	To      time.Time     // what the clock shows from now on; zero: what it shows already
	Advance time.Duration // how far it goes on at once
	Stopped *bool         // it stands from now on, or goes; nil: as before
}

// Clock reads the node's clock. It stays over restarts, and over reboots of the node.
//
// By it go: services that are pending (ServiceSpec.PendingTime), sessions with iSCSI portals that are cut off, and the
// times of files and directories that are made through the kernel. The agent's own deadlines do not.
func (n *Node) Clock() (now time.Time, stopped bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.state.Clock
	return c.now(), !c.Stopped.IsZero()
}

// SetClock changes the node's clock and lets what it brings happen before it returns. ErrInvalidClock: the time is
// before 1980, where FAT begins, or after 2199, or the clock would be moved back by Advance.
func (n *Node) SetClock(change ClockChange) (now time.Time, err error) {
	const most = 100 * 365 * 24 * time.Hour
	if change.Advance < 0 || change.Advance > most {
		return now, fmt.Errorf("%w: the clock is advanced by a duration of at most a century, not by %v", ErrInvalidClock, change.Advance)
	}
	err = n.control(func() error {
		now = n.state.Clock.now()
		if !change.To.IsZero() {
			now = change.To
		}
		now = now.Add(change.Advance).Round(0) // without the monotonic reading, which no file keeps
		if now.Year() < 1980 || now.Year() > 2199 {
			return fmt.Errorf("%w: the year %d is not one of 1980 to 2199", ErrInvalidClock, now.Year())
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
		return n.expireSessions()
	})
	if err != nil {
		return time.Time{}, err
	}
	return now, nil
}

// stamp gives a new file the time of the node, where it is not the host's.
func (n *Node) stamp(dir *os.Root, name string) error {
	c := n.state.Clock
	if c == (clockState{}) {
		return nil
	}
	return dir.Chtimes(name, c.now(), c.now())
}
