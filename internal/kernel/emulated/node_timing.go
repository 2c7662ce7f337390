// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"context"
	"errors"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// The answers to Timing: how long the node's calls take.
const (
	TimingNone    = "none"    // as long as the host takes
	TimingWindows = "windows" // about as long as on a Windows node
)

// unreachable is how long Windows looks for a server that does not answer: it sends a SYN three times and waits 3, 6
// and 12 seconds (hotfix 2786464 tells so). Until New-SmbGlobalMapping gave error 53, 22 seconds went by at a user of
// csi-driver-smb (issue 294).
const unreachable = 21 * time.Second

// usual returns how long a call takes on Windows; 0: too short to be noticed, or not known. The values without a source
// are estimates.
func usual(call kernel.Call) time.Duration {
	switch call.Function {
	case "FormatVolume":
		return 2900 * time.Millisecond // 1 GiB on vSphere: csi-proxy PR 360
	case "UpdateStorageCache", "ReenumerateDevices":
		return 500 * time.Millisecond // less than a second in the log of azuredisk-csi-driver PR 3632
	case "SetVolumeMountPoint", "DeleteVolumeMountPoint":
		return 50 * time.Millisecond
	case "Flush":
		return 100 * time.Millisecond
	case "ResizePartition":
		return time.Second
	case "CreateSMBGlobalMapping":
		return 300 * time.Millisecond
	case "RemoveSMBGlobalMapping":
		return 250 * time.Millisecond // the log of azurefile-csi-driver issue 1925
	case "AddISCSISendTargetPortal", "RefreshISCSISendTargetPortal", "LogoutISCSITarget":
		return 500 * time.Millisecond
	case "LoginISCSITarget":
		return time.Second
	case "DeviceIoControl":
		switch call.Code {
		case win32.IOCTL_DISK_CREATE_DISK, win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX, win32.IOCTL_DISK_SET_DISK_ATTRIBUTES,
			win32.IOCTL_DISK_GROW_PARTITION:
			return 200 * time.Millisecond
		case win32.FSCTL_LOCK_VOLUME:
			return 100 * time.Millisecond
		case win32.FSCTL_EXTEND_VOLUME:
			return 500 * time.Millisecond
		}
	}
	return 0
}

// TakeTime is a kernel.Interceptor: with the switch timing, calls take as long as on Windows.
func (n *Node) TakeTime(_ context.Context, call kernel.Call, do func() error) error {
	n.pass(usual(call))
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
	for n.state.Switches.Timing == TimingWindows && !n.hasty {
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
