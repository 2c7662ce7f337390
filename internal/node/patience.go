// SPDX-License-Identifier: Apache-2.0

package node

import (
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// How long operations wait for Windows. The agent's deadlines are longer than any of them.
const (
	sharingTime   = 2 * time.Second  // until other programs close files that are being deleted
	volumeTime    = 30 * time.Second // until the volume of a new partition, or of a disk that came online, arrives
	reservedTime  = time.Second      // until the Microsoft Reserved partition of a new GPT appears, if Windows makes one
	answerTime    = 10 * time.Second // until a file server answers a query
	statusTime    = 2 * time.Second  // until the mapping of a share that answers is no longer listed as disconnected
	installTime   = 10 * time.Second // until Windows has installed devices that it never saw
	formatTime    = 10 * time.Second // until a new volume can be formatted
	openTime      = 5 * time.Second  // until other programs let go of a disk that is being changed
	growTime      = 2 * time.Second  // until Windows knows everywhere that a disk, or a volume, has grown
	transientTime = time.Second      // until a disk that is "not ready" answers
)

// patience is a bounded wait with growing pauses. The zero value is a wait that has not begun.
type patience struct {
	until time.Time
	pause time.Duration
	early <-chan struct{} // ends one pause when it is closed; may be nil
}

const firstPause = 5 * time.Millisecond

// wait pauses once and reports whether there was still time for it.
func (p *patience) wait(limit time.Duration) bool {
	now := time.Now()
	if p.until.IsZero() {
		p.until, p.pause = now.Add(limit), firstPause
	}
	if now.After(p.until) {
		return false
	}
	pause := time.NewTimer(p.pause)
	defer pause.Stop()
	select {
	case <-pause.C:
		p.pause = min(2*p.pause, 250*time.Millisecond)
	case <-p.early:
		p.early, p.pause = nil, firstPause
	}
	return true
}

// whileShared repeats f while it fails because another program, most often an indexer or a virus scanner, has a file
// open. All such waits of an operation share one limit.
func (o *op) whileShared(f func() error) error {
	for {
		err := f()
		if !errdefs.HasCode(err, win32.ERROR_SHARING_VIOLATION, win32.ERROR_DELETE_PENDING) ||
			!o.sharingPatience.wait(sharingTime) {
			return err
		}
	}
}
