// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
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
// Pending services (services.Spec.PendingTime), sessions with iSCSI portals that are cut off, the times of files and
// directories that are made through the kernel, and calls that take time (scenario.Switches.Timing) go by this clock.
// The agent's own deadlines do not.
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
		if change.Stopped != nil {
			stopped = *change.Stopped
		}
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
	return n.host.Change("chtimes", filepath.Join(dir.Name(), name),
		func() error { return dir.Chtimes(name, c.now(), c.now()) })
}

// unreachable is how long Windows looks for a server that does not answer: it sends a SYN three times and waits 3, 6
// and 12 seconds (hotfix 2786464 tells so). Until New-SmbGlobalMapping gave error 53, 22 seconds went by at a user of
// csi-driver-smb (issue 294).
const unreachable = 21 * time.Second

// usual is how long calls take on Windows, by function or by control code. The others are too short to be noticed, or
// not known. The values without a source are estimates.
var (
	usual = map[string]time.Duration{
		"FormatVolume":                 2900 * time.Millisecond, // 1 GiB on vSphere: csi-proxy PR 360
		"UpdateStorageCache":           500 * time.Millisecond,  // less than a second: azuredisk-csi-driver PR 3632
		"ReenumerateDevices":           500 * time.Millisecond,
		"SetVolumeMountPoint":          50 * time.Millisecond,
		"DeleteVolumeMountPoint":       50 * time.Millisecond,
		"Flush":                        100 * time.Millisecond,
		"ResizePartition":              time.Second,
		"CreateSMBGlobalMapping":       300 * time.Millisecond,
		"RemoveSMBGlobalMapping":       250 * time.Millisecond, // the log of azurefile-csi-driver issue 1925
		"AddISCSISendTargetPortal":     500 * time.Millisecond,
		"RefreshISCSISendTargetPortal": 500 * time.Millisecond,
		"LogoutISCSITarget":            500 * time.Millisecond,
		"LoginISCSITarget":             time.Second,
	}
	usualOfCode = map[uint32]time.Duration{
		win32.IOCTL_DISK_CREATE_DISK:         200 * time.Millisecond,
		win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX: 200 * time.Millisecond,
		win32.IOCTL_DISK_SET_DISK_ATTRIBUTES: 200 * time.Millisecond,
		win32.IOCTL_DISK_GROW_PARTITION:      200 * time.Millisecond,
		win32.FSCTL_LOCK_VOLUME:              100 * time.Millisecond,
		win32.FSCTL_EXTEND_VOLUME:            500 * time.Millisecond,
	}
)

// TakeTime is a kernel.Interceptor: with the switch timing, calls take as long as on Windows.
func (n *Node) TakeTime(_ context.Context, call kernel.Call, do func() error) error {
	n.pass(cmp.Or(usual[call.Function], usualOfCode[call.Code]))
	err := do()
	if call.Function == "CreateSMBGlobalMapping" && errors.Is(err, win32.ERROR_BAD_NETPATH) {
		n.pass(unreachable)
	}
	return err
}

// pass waits until some time of the node's clock has passed, if its calls take time.
func (n *Node) pass(d time.Duration) {
	if d == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	due := n.state.Clock.now().Add(d)
	for n.state.Switches.Timing == scenario.TimingWindows && !n.hasty {
		now := n.state.Clock.now()
		if due.Sub(now) > d { // the clock was set back
			due = now.Add(d)
		}
		if !due.After(now) {
			return
		}
		n.wait(due.Sub(now))
	}
}

// wait waits until the clock changes, or for a time unless the clock is stopped. The mutex is free meanwhile.
func (n *Node) wait(left time.Duration) {
	if n.retimed == nil {
		n.retimed = make(chan struct{})
	}
	retimed := n.retimed
	var elapsed <-chan time.Time
	if n.state.Clock.Stopped.IsZero() {
		timer := time.NewTimer(left)
		defer timer.Stop()
		elapsed = timer.C
	}
	n.mu.Unlock()
	defer n.mu.Lock()
	select {
	case <-retimed:
	case <-elapsed:
	}
}

// retime makes the calls that wait look at the clock and the switch again.
func (n *Node) retime() {
	if n.retimed != nil {
		close(n.retimed)
		n.retimed = nil
	}
}

// Hasten ends the waits of calls, and lets later ones take no time, until the node reboots or it is called with false:
// a stopping agent does not wait for them.
func (n *Node) Hasten(hasty bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hasty = hasty
	n.retime()
}
