// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
)

// deniedDisk is a node whose disk 1 cannot be opened for writing until a time.
type deniedDisk struct {
	*emulated.Node
	code   win32.Errno
	until  time.Time
	opened int
}

func (d *deniedDisk) OpenDevice(path string, access uint32) (kernel.Handle, error) {
	if path == `\\.\PhysicalDrive1` && access != 0 {
		d.opened++
		if time.Now().Before(d.until) {
			return nil, d.code
		}
	}
	return d.Node.OpenDevice(path, access)
}

// TestDeniedDisk: an operation that changes one disk waits until Windows opens it. One that only looks does not.
func TestDeniedDisk(t *testing.T) {
	const changes, looks = true, false
	operations := map[string]struct {
		change bool
		do     func(ctx context.Context, n *Node, volume string) error
	}{
		"partition": {changes, func(ctx context.Context, n *Node, _ string) error { return by(ctx, n).PartitionDisk(1) }},
		"state": {changes, func(ctx context.Context, n *Node, _ string) error {
			return by(ctx, n).SetDiskState(1, true)
		}},
		"read-only": {changes, func(ctx context.Context, n *Node, _ string) error {
			return n.Disks.SetDiskReadOnly(ctx, 1, false)
		}},
		"resize": {changes, func(ctx context.Context, n *Node, volume string) error {
			return by(ctx, n).ResizeVolume(volume, 0)
		}},
		"statistics": {looks, func(ctx context.Context, n *Node, _ string) error {
			_, err := by(ctx, n).GetDiskStats(1)
			return err
		}},
		"rescan": {looks, func(ctx context.Context, n *Node, _ string) error { return by(ctx, n).Rescan() }},
	}
	for name, operation := range operations {
		for _, code := range []win32.Errno{win32.ERROR_ACCESS_DENIED, win32.ERROR_SHARING_VIOLATION} {
			synctest.Test(t, func(t *testing.T) {
				k := emulate(t, emulated.Options{})
				d := &deniedDisk{Node: k, code: code}
				n := bare(t, d)
				id := newVolume(t, n)
				for _, denied := range []time.Duration{openTime - time.Second, openTime + time.Second} {
					begin := time.Now()
					d.until, d.opened = begin.Add(denied), 0
					err := operation.do(t.Context(), n, id)
					waited := time.Since(begin)
					switch {
					case !operation.change && (waited != 0 || d.opened != 1):
						t.Errorf("%s, %v: waited %v, tried %d times", name, code, waited, d.opened)
					case operation.change && denied < openTime && err != nil:
						t.Errorf("%s, denied for %v: %v", name, denied, err)
					case operation.change && denied > openTime &&
						(!errdefs.HasCode(err, code) || waited < openTime || waited > openTime+time.Second):
						t.Errorf("%s, denied for %v: %v after %v", name, denied, err, waited)
					}
				}
			})
		}
	}
}
