// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
)

// A server that hangs makes Usage fail after answerTime. However many callers ask meanwhile, it is asked once.
func TestUsageDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newSlowShare(t)
		n.holdCalls(func(call kernel.Call) bool { return call.Function == "FsInformation" })
		start := time.Now()
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				var e *errdefs.Error
				if _, err := n.Filesystem.Usage(t.Context(), testLink+`share`); !errors.As(err, &e) ||
					e.Class != errdefs.Unavailable || e.Reason != reason.NotAnswering {
					t.Errorf("got %v", err)
				}
			})
		}
		callers.Wait()
		if took := time.Since(start); took != answerTime {
			t.Errorf("it took %v, want %v", took, answerTime)
		}
		if got := n.held.Load(); got != 1 {
			t.Errorf("the server was asked %d times", got)
		}
		if _, err := n.Filesystem.Usage(t.Context(), testLink+`other`); err == nil {
			t.Error("the other share does not hang")
		}
		n.holdCalls(nil)
		close(n.unblock)
		must(t, n.Drain(t.Context()))
		if of, err := n.Filesystem.Usage(t.Context(), testLink+`share`); err != nil || of.Total != 1<<40 {
			t.Errorf("got %+v, %v", of, err)
		}
	})
}
