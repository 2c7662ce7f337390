// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/local"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// TestConcurrentStages: a node that starts gets its pods at once, and what they wait for is their own disks. The times
// are those of an emulated node whose calls take as long as on Windows, in a bubble: its clock stands still while anything
// is computed.
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
		c := caller.By(t, csiproxy.Over(local.New(apis.All(n), server.Options{Logger: klog.Background()})))
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
					if err := stage(c, fmt.Sprint("pod-", i), fmt.Sprint(node.KubeletDir+`\plugins\pod-`, i)); err != nil {
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
