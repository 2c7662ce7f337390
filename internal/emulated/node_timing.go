// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

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

// pass waits until some time has passed, if calls take time.
func (n *Node) pass(d time.Duration) {
	n.mu.Lock()
	hastened := n.hastened
	if n.state.Switches.Timing != scenario.TimingWindows {
		d = 0
	}
	n.mu.Unlock()
	if d > 0 {
		select {
		case <-hastened:
		case <-time.After(d):
		}
	}
}

// Hasten ends the waits of calls, and lets later ones take no time, until the node is put down: a stopping agent does
// not wait for them.
func (n *Node) Hasten() {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.hastened:
	default:
		close(n.hastened)
	}
}
