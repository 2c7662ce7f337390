// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
)

// TestJoinedRmdirs: of identical calls that overlap, each gets the answer of the one removal, as a repeated call must.
// One that comes later is told that nothing is there.
func TestJoinedRmdirs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := emulate(t, emulated.Options{})
		release, removals := make(chan struct{}), 0
		n := newNode(t, k, Config{Interceptor: func(_ context.Context, call kernel.Call, do func() error) error {
			if call.Function == "SetInformation" {
				removals++
				<-release
			}
			return do()
		}})
		const path = KubeletDir + `\pods\once`
		must(t, n.Filesystem.Mkdir(t.Context(), path))
		var calls sync.WaitGroup
		for range 2 {
			calls.Go(func() {
				if err := n.Filesystem.Rmdir(t.Context(), path, false); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait() // one is at work, the other has joined it
		close(release)
		calls.Wait()
		if removals != 1 {
			t.Errorf("the directory was removed %d times", removals)
		}
		var e *errdefs.Error
		if err := n.Filesystem.Rmdir(t.Context(), path, false); !errors.As(err, &e) || e.Class != errdefs.NotFound {
			t.Errorf("afterwards: %v, want NotFound", err)
		}
	})
}
