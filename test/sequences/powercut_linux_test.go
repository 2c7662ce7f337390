// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/powercut"
	"github.com/kubernetes-csi/csi-proxy/internal/testnode"
)

// TestPowerLost repeats each driver's life with the host's power lost once, before an operation on the host's files.
// The node boots from what was durable, and of the rest from nothing, everything or a random mix; the driver's
// operation is retried, and the life goes on. CSI_PROXY_LONG=all tries each operation.
func TestPowerLost(t *testing.T) {
	every, of := 211, 4
	switch {
	case os.Getenv("CSI_PROXY_LONG") == "all":
		every, of = 1, 1
	case testnode.Long():
		every, of = 61, 1
	case testnode.RaceDetector():
		of = 8
	}
	seed := rand.Uint64()
	t.Run("lives", func(t *testing.T) {
		for subject, s := range subjects() {
			if subject%of != 1%of {
				continue
			}
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				want := s.undisturbed(t)
				operations := s.hostOperations(t)
				for at := range operations {
					for i, loss := range powercut.Losses(seed+uint64(at), 1) {
						chosen := (3*at+i)%every == 7*subject%every
						if testnode.Tried(t, chosen, 1); !chosen {
							continue
						}
						t.Run(fmt.Sprintf("before operation %d of %d, %s", at, operations, loss), func(t *testing.T) {
							s.live(t, disturbance{host: s.losePower(t, at, loss)}, want)
						})
					}
				}
			})
		}
	})
	t.Logf("seed %d", seed)
}

// hostOperations counts the operations on the host's files in an undisturbed life, after its node was made.
func (s subject) hostOperations(t *testing.T) int {
	t.Helper()
	var count atomic.Int64
	d := &hostDisturbance{
		before: func(string, string) error { count.Add(1); return nil },
		began:  func() { count.Store(0) }, synced: func() {}, revive: func(*life) {},
	}
	s.live(t, disturbance{host: d}, nil)
	return int(count.Load())
}

var errNoPower = errors.New("the host has no power")

// losePower loses the power of a host before one of its operations. The first life after that is on the node that is
// left.
func (s subject) losePower(t *testing.T, at int, loss powercut.Loss) *hostDisturbance {
	t.Helper()
	top := testnode.ShortDir(t)
	dir, left := filepath.Join(top, "n"), filepath.Join(top, "l")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	disk := powercut.Watch(t, dir)
	var mu sync.Mutex // the hook runs on the agent's goroutines
	began, operations, lost, revived := false, 0, false, false
	d := &hostDisturbance{dir: dir}
	d.before = func(change, path string) error {
		mu.Lock()
		defer mu.Unlock()
		if err := disk.Before(change, path); err != nil || lost {
			return errNoPower
		}
		if began {
			operations++
		}
		if operations > at {
			disk.Leave(loss, left)
			lost = true
			return errNoPower
		}
		return nil
	}
	d.began = func() {
		mu.Lock()
		defer mu.Unlock()
		disk.Sync()
		began = true
	}
	d.synced = func() {
		mu.Lock()
		defer mu.Unlock()
		if !lost {
			disk.Sync()
		}
	}
	d.revive = func(l *life) {
		mu.Lock()
		defer mu.Unlock()
		if !lost || revived {
			return
		}
		revived = true
		l.node = testnode.Start(l.t, testnode.Options{StateDir: left, Emulated: emulated.Options{}})
		l.node.Reboot()
		known := l.observer.volumes
		l.observer = newObserver(l.t, l.node.Emulated)
		l.observer.volumes = known
		taken := l.calls.steps
		l.calls = newCalls(l.t, l.node, nil)
		l.calls.steps = taken
	}
	return d
}
