// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/calls"
)

// A control code that Windows accepts without effect is an error.
func TestAcceptedAndNotDone(t *testing.T) {
	const number, grown = 1, 128 << 20
	for name, test := range map[string]struct {
		code uint32 // what is accepted
		do   func(n *Node, c *calls.Calls, volume string) error
		want string
	}{
		"initialising": {win32.IOCTL_DISK_CREATE_DISK, func(_ *Node, c *calls.Calls, _ string) error {
			return c.PartitionDisk(2)
		}, reason.NotInitialized},
		"growing": {win32.IOCTL_DISK_GROW_PARTITION, func(_ *Node, c *calls.Calls, volume string) error {
			return c.ResizeVolume(volume, 0)
		}, reason.NotGrown},
		"going offline": {win32.IOCTL_DISK_SET_DISK_ATTRIBUTES, func(_ *Node, c *calls.Calls, _ string) error {
			return c.SetDiskState(number, false)
		}, reason.StateNotApplied},
		"becoming read-only": {win32.IOCTL_DISK_SET_DISK_ATTRIBUTES, func(n *Node, _ *calls.Calls, _ string) error {
			return n.Disks.SetDiskReadOnly(t.Context(), number, true)
		}, reason.StateNotApplied},
	} {
		t.Run(name, func(t *testing.T) {
			n, k := nodeWith(t, func(_ context.Context, call kernel.Call, do func() error) error {
				if call.Code == test.code {
					return nil
				}
				return do()
			}, bundle.Spec{SizeBytes: 64 << 20, Formatted: true}, bundle.Spec{SizeBytes: 64 << 20, Target: 1})
			c := by(t.Context(), n)
			volumes, err := c.ListVolumesOnDisk(number)
			must(t, err)
			must(t, k.GrowDisk(number, grown))
			if err := test.do(n, c, volumes[0]); !errdefs.HasReason(err, test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
