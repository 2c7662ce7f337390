// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func TestRetry(t *testing.T) {
	for name, test := range map[string]struct {
		err   error
		times int // until it succeeds
		calls int
		took  time.Duration
	}{
		"at once": {nil, 0, 1, 0},
		"held by a scanner": {&fs.PathError{Op: "remove", Path: `C:\x.vhdx`, Err: syscall.Errno(32)}, 5, 6,
			500 * time.Millisecond},
		"held, of another type": {fmt.Errorf("ResizeVirtualDisk: %w", win32.ERROR_ACCESS_DENIED), 1, 2,
			100 * time.Millisecond},
		"not ready yet":           {syscall.Errno(21), 2, 3, 200 * time.Millisecond},
		"held without end":        {syscall.Errno(32), 1 << 30, 200, releaseTimeout},
		"something else is amiss": {syscall.Errno(2), 1 << 30, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls, begun := 0, time.Now()
				err := Retry(t.Context(), func() error {
					calls++
					if calls > test.times {
						return nil
					}
					return test.err
				})
				if took := time.Since(begun); took != test.took || calls < test.calls || calls > test.calls+1 {
					t.Errorf("%d calls in %v, want %d in %v", calls, took, test.calls, test.took)
				}
				if fails := test.times == 1<<30; fails != (err != nil) || fails && !errors.Is(err, test.err) {
					t.Errorf("it ends with %v", err)
				}
			})
		})
	}
}
