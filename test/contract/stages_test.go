// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// stage makes the calls of a driver that stages a new volume on a disk that it knows by its serial number.
func stage(ctx context.Context, n *node.Node, serial string) error {
	if err := n.Disks.Rescan(ctx); err != nil {
		return err
	}
	ids, err := n.Disks.ListDiskIDs(ctx)
	if err != nil {
		return err
	}
	for number, id := range ids {
		if id.SerialNumber != serial {
			continue
		}
		if err := n.Disks.PartitionDisk(ctx, number); err != nil {
			return err
		}
		if err := n.Disks.SetDiskState(ctx, number, true); err != nil {
			return err
		}
		volumes, err := n.Volumes.ListVolumesOnDisk(ctx, number, 0)
		if err != nil {
			return err
		}
		if err := n.Volumes.FormatVolume(ctx, volumes[0]); err != nil {
			return err
		}
		return n.Volumes.MountVolume(ctx, volumes[0], node.KubeletDir+`\plugins\`+serial)
	}
	return fmt.Errorf("no disk has the serial number %s", serial)
}

// TestConcurrentStages: a node that starts gets its pods at once, and what they wait for is their own disks. The times
// are those of an emulated node whose calls take as long as on Windows, and whose clock is the test's: it stands still
// while anything is computed.
func TestConcurrentStages(t *testing.T) {
	pods := 16
	if testnode.Long() {
		pods = 64
	}
	synctest.Test(t, func(t *testing.T) {
		k, err := emulated.Open(t.TempDir(), emulated.Options{})
		caller.OK(t, err)
		defer func() { _ = k.Close() }()
		n, err := node.New(k, node.Config{WorkingDirs: []string{node.KubeletDir},
			Interceptor: func(ctx context.Context, call kernel.Call, do func() error) error {
				if call.Function == "ReadAt" {
					return nil // the disks are blank: to read them all would only keep the host busy
				}
				return k.TakeTime(ctx, call, do)
			}})
		caller.OK(t, err)
		n = n.For(operation.Everything())
		n.EnablePrivileges(t.Context())
		caller.OK(t, k.SetSwitch("timing", "windows"))
		for i := range pods + 1 {
			_, err := k.AttachDisk(bundle.Spec{SizeBytes: 64 << 20, SerialNumber: fmt.Sprint("pod-", i),
				LUNAuto: true, Offline: true})
			caller.OK(t, err)
		}
		staged := func(from, to int) time.Duration {
			begin := time.Now()
			var stages sync.WaitGroup
			for i := from; i < to; i++ {
				stages.Go(func() {
					if err := stage(t.Context(), n, fmt.Sprint("pod-", i)); err != nil {
						t.Errorf("pod %d: %v", i, err)
					}
				})
			}
			stages.Wait()
			return time.Since(begin)
		}
		alone := staged(0, 1)
		together := staged(1, pods+1)
		t.Logf("alone %v, %d together %v", alone, pods, together)
		if together > alone*13/10 {
			t.Errorf("%d stages together take %v, one takes %v", pods, together, alone)
		}
	})
}
