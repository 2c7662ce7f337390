// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
)

// lateVolumes is a node whose volumes arrive late, and whose handles are synchronous: each has one control code at a
// time.
type lateVolumes struct {
	*emulated.Node
	ready func() error // after IOCTL_DISK_ARE_VOLUMES_READY
	asked atomic.Int32
}

func (k *lateVolumes) OpenDevice(path string, access uint32) (kernel.Handle, error) {
	h, err := k.Node.OpenDevice(path, access)
	if err != nil {
		return nil, err
	}
	return &synchronousHandle{Handle: h, kernel: k}, nil
}

type synchronousHandle struct {
	kernel.Handle
	kernel *lateVolumes
	mu     sync.Mutex
}

func (h *synchronousHandle) DeviceIoControl(code uint32, in, out []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, err := h.Handle.DeviceIoControl(code, in, out)
	if err == nil && code == win32.IOCTL_DISK_ARE_VOLUMES_READY {
		h.kernel.asked.Add(1)
		err = h.kernel.ready()
	}
	return n, err
}

func startLate(t *testing.T, ready func() error) (*lateVolumes, *Node) {
	t.Helper()
	switches := emulated.DefaultSwitches()
	switches.VolumesArriveLate, switches.VolumeLengthDelayed = true, true
	k, err := emulated.Open(t.TempDir(), emulated.Options{Switches: &switches})
	if err != nil {
		t.Fatal(err)
	}
	late := &lateVolumes{Node: k, ready: ready}
	n := bare(t, late)
	n.EnablePrivileges(t.Context())
	return late, n
}

// TestVolumesAreAwaited: a volume is found when Windows says that it is ready, sooner than the poll would find it.
// Where Windows refuses to say it, or never does, the poll takes as long as it takes alone.
func TestVolumesAreAwaited(t *testing.T) {
	partitioned := func(t *testing.T, ready func(end <-chan struct{}) error) (took time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			end := make(chan struct{})
			k, n := startLate(t, func() error { return ready(end) })
			began := time.Now()
			if err := n.Disks.PartitionDisk(t.Context(), 1); err != nil {
				t.Error(err)
			}
			took = time.Since(began)
			if asked := k.asked.Load(); asked != 1 {
				t.Errorf("Windows was asked %d times whether the volumes are ready, want once", asked)
			}
			close(end)
			if err := errors.Join(n.Drain(t.Context()), k.Close()); err != nil {
				t.Error(err)
			}
		})
		return took
	}
	told := partitioned(t, func(<-chan struct{}) error { return nil })
	refused := partitioned(t, func(<-chan struct{}) error { return win32.ERROR_INVALID_FUNCTION })
	never := partitioned(t, func(end <-chan struct{}) error { <-end; return nil })
	if told >= refused || never != refused {
		t.Errorf("it took %v; where Windows refuses to say it %v, where it never does %v", told, refused, never)
	}
}

// TestWhenVolumesAreAwaited: after a partition was made, after it has grown, and after its disk came online.
func TestWhenVolumesAreAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, n := startLate(t, func() error { return nil })
		for i, step := range []struct {
			name string
			take func() error
		}{
			{"PartitionDisk", func() error { return n.Disks.PartitionDisk(t.Context(), 1) }},
			{"ResizeVolume", func() error {
				ids, err := n.Volumes.ListVolumesOnDisk(t.Context(), 1, 0)
				if err != nil {
					return err
				}
				err = errors.Join(n.Volumes.FormatVolume(t.Context(), ids[0]), k.GrowDisk(1, 11<<30))
				return errors.Join(err, n.Volumes.ResizeVolume(t.Context(), ids[0], 0))
			}},
			{"SetDiskState", func() error {
				return errors.Join(n.Disks.SetDiskState(t.Context(), 1, false), n.Disks.SetDiskState(t.Context(), 1, true))
			}},
		} {
			if err := errors.Join(step.take(), n.Drain(t.Context())); err != nil {
				t.Fatal(step.name, err)
			}
			if asked := k.asked.Load(); asked != int32(i+1) {
				t.Errorf("after %s, Windows was asked %d times whether the volumes are ready, want %d", step.name, asked, i+1)
			}
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestWaitForVolumesIsNoHangOfTheDisk: where Windows never says that volumes are ready, the disk can be read and
// changed as before, no second call is left behind, and the log has no error.
func TestWaitForVolumesIsNoHangOfTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		k, n := startLate(t, func() error { <-end; return nil })
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		var log bytes.Buffer
		ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
		must(n.Disks.PartitionDisk(ctx, 1))
		for range 5 {
			time.Sleep(10 * time.Second) // until the call counts as stuck
			must(n.Disks.SetDiskState(t.Context(), 1, false))
			must(n.Disks.SetDiskState(t.Context(), 1, true))
			_, err := n.Volumes.ListVolumesOnDisk(t.Context(), 1, 0)
			must(err)
			all, err := n.Disks.ListDiskIDs(t.Context())
			must(err)
			if len(all) != 3 {
				t.Errorf("%d disks are listed, want 3", len(all))
			}
		}
		var running []string
		for _, r := range n.Running() {
			running = append(running, r.Name)
		}
		if k.asked.Load() != 1 {
			t.Errorf("Windows was asked %d times, want once", k.asked.Load())
		}
		if strings.HasPrefix(log.String(), "E") || strings.Contains(log.String(), "\nE") {
			t.Errorf("the log has an error:\n%s", &log)
		}
		if strings.Join(running, " ") != "PartitionDisk(volumes of disk 1)" {
			t.Errorf("%q runs", running)
		}
		close(end)
		must(errors.Join(n.Drain(t.Context()), k.Close()))
	})
}
