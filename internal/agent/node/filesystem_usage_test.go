// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
)

// A server that hangs keeps no caller for longer than answerTime. However many callers ask meanwhile, it is asked once.
func TestHangingServerIsAskedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		hangs func(kernel.Call) bool
		ask   func(ctx context.Context, n *Node, share string) (leads bool, err error)
	}{
		"IsSymlink": {onShareOf("share"), func(ctx context.Context, n *Node, share string) (bool, error) {
			return by(ctx, n).IsSymlink(share)
		}},
		"GetVolume": {func(call kernel.Call) bool { return call.Function == "FsInformation" },
			func(ctx context.Context, n *Node, share string) (bool, error) {
				v, err := n.Steps.GetVolume(ctx, &nodesteps.GetVolumeRequest{TargetPath: share})
				return v.GetReason() != reason.NotAnswering, err
			}},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := newSlowShare(t)
			n.holdCalls(test.hangs)
			start := time.Now()
			var callers sync.WaitGroup
			for range 8 {
				callers.Go(func() {
					leads, err := test.ask(t.Context(), n.Node, testLink+`share`)
					if leads || err != nil {
						t.Errorf("%s: got %t, %v", name, leads, err)
					}
				})
			}
			callers.Wait()
			if took := time.Since(start); took != answerTime || n.held.Load() != 1 {
				t.Errorf("%s: %d calls in %v, want one in %v", name, n.held.Load(), took, answerTime)
			}
			n.holdCalls(nil)
			close(n.unblock)
			must(t, n.Drain(t.Context()))
			if leads, err := test.ask(t.Context(), n.Node, testLink+`share`); !leads || err != nil {
				t.Errorf("%s when it answers: %t, %v", name, leads, err)
			}
		})
	}
}
