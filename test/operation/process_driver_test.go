// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	fileapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	disk "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/adminclient"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// testTimeout is how long a test waits for what must happen; nothing is expected to take that long.
const testTimeout = 5 * time.Minute

// again is how often a driver repeats a call before it reports an error.
const again = 20

// A driver stages and unstages the volume of its own disk over and over.
type driver struct {
	disk    uint32
	target  string
	disks   *disk.Client
	files   *filesystem.Client
	volumes *volume.Client

	lives    atomic.Int64
	calls    int // made, without repetitions
	repeated int
}

// newDriver attaches a disk and opens the driver's clients, which live as long as the test.
func newDriver(t *testing.T, index int) *driver {
	t.Helper()
	control, err := adminclient.Dial(t.Context(), "")
	caller.OK(t, err)
	defer func() { _ = control.Close() }()
	attached, err := control.AttachDisk(t.Context(),
		&nodeapi.AttachDiskRequest{SizeBytes: 1 << 30, SerialNumber: fmt.Sprint("upgrade-", index)})
	caller.OK(t, err)
	return &driver{disk: attached.GetDiskNumber(), target: fmt.Sprintf(`C:\var\lib\kubelet\pods\upgrade-%d`, index),
		disks: open(t, disk.NewClient), files: open(t, filesystem.NewClient), volumes: open(t, volume.NewClient)}
}

func open[C interface{ Close() error }](t *testing.T, newClient func() (C, error)) C {
	t.Helper()
	c, err := newClient()
	caller.OK(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// call makes a call that waits for the agent, and repeats it when the agent died meanwhile.
func call[Request, Response any](ctx context.Context, d *driver,
	do func(context.Context, Request, ...grpc.CallOption) (Response, error), r Request) (Response, error) {
	d.calls++
	for range again {
		answer, err := do(ctx, r, grpc.WaitForReady(true))
		if status.Code(err) != codes.Unavailable {
			return answer, err
		}
		d.repeated++
	}
	var none Response
	return none, fmt.Errorf("%T is Unavailable %d times", r, again)
}

// live stages the volume, looks at it, and unstages it: drivers repeat each of these calls until it succeeds.
func (d *driver) live(ctx context.Context) error {
	if _, err := call(ctx, d, d.disks.PartitionDisk, &diskapi.PartitionDiskRequest{DiskNumber: d.disk}); err != nil {
		return fmt.Errorf("partition: %w", err)
	}
	listed, err := call(ctx, d, d.volumes.ListVolumesOnDisk, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: d.disk})
	if err != nil || len(listed.GetVolumeIds()) != 1 {
		return fmt.Errorf("the disk's volumes are %v: %w", listed.GetVolumeIds(), err)
	}
	id := listed.GetVolumeIds()[0]
	if _, err := call(ctx, d, d.volumes.FormatVolume, &volumeapi.FormatVolumeRequest{VolumeId: id}); err != nil {
		return fmt.Errorf("format: %w", err)
	}
	if _, err := call(ctx, d, d.files.Mkdir, &fileapi.MkdirRequest{Path: d.target}); err != nil {
		return fmt.Errorf("mkdir: %w", err)
	}
	if _, err := call(ctx, d, d.volumes.MountVolume,
		&volumeapi.MountVolumeRequest{VolumeId: id, TargetPath: d.target}); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	mounted, err := call(ctx, d, d.volumes.GetVolumeIDFromTargetPath,
		&volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: d.target})
	if err != nil || mounted.GetVolumeId() != id {
		return fmt.Errorf("mounted is %q, want %q: %w", mounted.GetVolumeId(), id, err)
	}
	if _, err := call(ctx, d, d.volumes.UnmountVolume,
		&volumeapi.UnmountVolumeRequest{VolumeId: id, TargetPath: d.target}); err != nil {
		return fmt.Errorf("unmount: %w", err)
	}
	if _, err := call(ctx, d, d.files.Rmdir, &fileapi.RmdirRequest{Path: d.target, Force: true}); err != nil &&
		status.Code(err) != codes.NotFound {
		return fmt.Errorf("rmdir: %w", err)
	}
	left, err := call(ctx, d, d.files.PathExists, &fileapi.PathExistsRequest{Path: d.target})
	if err != nil || left.GetExists() {
		return fmt.Errorf("the target exists still: %t: %w", left.GetExists(), err)
	}
	return nil
}

// labour is a set of drivers at work.
type labour struct {
	drivers []*driver
	lived   chan struct{} // one element for each life that ended
	failed  chan error
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

// work lets drivers live until stop.
func work(t *testing.T, drivers ...*driver) *labour {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &labour{drivers: drivers, lived: make(chan struct{}, 1), failed: make(chan error, len(drivers)), cancel: cancel}
	for i, d := range drivers {
		l.done.Go(func() {
			for ctx.Err() == nil {
				limited, stop := context.WithTimeout(t.Context(), testTimeout)
				err := d.live(limited)
				stop()
				if err != nil {
					l.failed <- fmt.Errorf("driver %d, life %d: %w", i, d.lives.Load(), err)
					return
				}
				d.lives.Add(1)
				select {
				case l.lived <- struct{}{}:
				default:
				}
			}
		})
	}
	t.Cleanup(func() { cancel(); l.done.Wait() })
	return l
}

// turns waits until every driver has begun and ended a life from now on.
func (l *labour) turns(t *testing.T) {
	t.Helper()
	for _, d := range l.drivers {
		for want := d.lives.Load() + 2; d.lives.Load() < want; {
			select {
			case <-l.lived:
			case err := <-l.failed:
				t.Fatal(err)
			}
		}
	}
}

// stop lets the drivers finish their lives.
func (l *labour) stop(t *testing.T) {
	t.Helper()
	l.cancel()
	l.done.Wait()
	select {
	case err := <-l.failed:
		t.Fatal(err)
	default:
	}
}
