// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// Backoff is a bounded wait with growing pauses. The zero value is a wait that has not begun.
type Backoff struct {
	until time.Time
	pause time.Duration
}

const firstPause = 5 * time.Millisecond

// Wait pauses once and reports whether there was still time for it.
func (b *Backoff) Wait(limit time.Duration) bool {
	now := time.Now()
	if b.until.IsZero() {
		b.until, b.pause = now.Add(limit), firstPause
	}
	if now.After(b.until) {
		return false
	}
	time.Sleep(b.pause)
	b.pause = min(2*b.pause, 250*time.Millisecond)
	return true
}

// sharingTime is how long an operation waits in all until other programs close files.
const sharingTime = 2 * time.Second

// WaitShared pauses once for another program, most often an indexer or a virus scanner, that has a file open, and
// reports whether there was still time. All such waits of an operation share one limit.
func (o *Operation) WaitShared() bool { return o.sharing.Wait(sharingTime) }

// RetryShared repeats f while it fails because another program has a file open.
func (o *Operation) RetryShared(f func() error) error {
	for {
		err := f()
		if !errdefs.HasCode(err, win32.ERROR_SHARING_VIOLATION, win32.ERROR_DELETE_PENDING) || !o.WaitShared() {
			return err
		}
	}
}
