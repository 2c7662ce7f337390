// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

func codeOf(err error) codes.Code { return status.Code(err) }

// verb is a call that makes a kernel call.
type verb struct {
	name     string
	function string // the kernel call in which it hangs or breaks
	probe    string // a kernel call that it makes once; "" if it has none
	times    int    // how often probe is called by one hanging call and two more that join it as far as they may
	call     func(ctx context.Context) error
}

// verbs change things on disk 1, whose volume is raw and not mounted.
func verbs(n *testnode.Node, id string) []verb {
	return []verb{
		{"FormatVolume", "FormatVolume", "VolumeInformation", 1, func(ctx context.Context) error {
			_, err := n.Volume.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeId: id})
			return err
		}},
		{"WriteVolumeCache", "Flush", "Flush", 2, func(ctx context.Context) error {
			_, err := n.Volume.WriteVolumeCache(ctx, &volume.WriteVolumeCacheRequest{VolumeId: id})
			return err
		}},
		{"MountVolume", "SetVolumeMountPoint", "SetVolumeMountPoint", 1, func(ctx context.Context) error {
			_, err := n.Volume.MountVolume(ctx, &volume.MountVolumeRequest{VolumeId: id, TargetPath: mount})
			return err
		}},
		{"ResizeVolume", "DeviceIoControl", "", 0, func(ctx context.Context) error {
			_, err := n.Volume.ResizeVolume(ctx, &volume.ResizeVolumeRequest{VolumeId: id})
			return err
		}},
		{"UnmountVolume", "DeleteVolumeMountPoint", "DeleteVolumeMountPoint", 1, func(ctx context.Context) error {
			_, err := n.Volume.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeId: id, TargetPath: mount})
			return err
		}},
		{"Rescan", "ReenumerateDevices", "ReenumerateDevices", 2, func(ctx context.Context) error {
			_, err := n.Disk.Rescan(ctx, &disk.RescanRequest{})
			return err
		}},
		{"PartitionDisk", "DeviceIoControl", "", 0, func(ctx context.Context) error {
			_, err := n.Disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: 1})
			return err
		}},
		{"SetDiskState", "OpenDevice", "", 0, func(ctx context.Context) error {
			_, err := n.Disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: 1, IsOnline: true})
			return err
		}},
		{"Mkdir", "OpenFile", "", 0, func(ctx context.Context) error {
			_, err := n.Filesystem.Mkdir(ctx, &filesystem.MkdirRequest{Path: pods + `\a\b`})
			return err
		}},
		{"Rmdir", "SetInformation", "", 0, func(ctx context.Context) error {
			_, err := n.Filesystem.Rmdir(ctx, &filesystem.RmdirRequest{Path: pods + `\a\b`, Force: true})
			return err
		}},
	}
}

func raw(t *testing.T, n *testnode.Node) (id string) {
	t.Helper()
	_, err := n.Disk.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: 1})
	noError(t, err)
	reply, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: 1})
	noError(t, err)
	return reply.GetVolumeIds()[0]
}

// A hanging kernel call costs its caller the deadline, and delays no other call. The same call again waits for the
// hanging one instead of beginning another.
func TestHungKernelCalls(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	for _, v := range verbs(n, raw(t, n)) {
		t.Run(v.name, func(t *testing.T) {
			n.Faults.Calls() // forget
			reached, release := n.Faults.Hang(v.function)
			defer release()
			short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			first := make(chan error, 1)
			go func() { first <- v.call(short) }()
			await(t, reached, "the kernel call")
			if err := <-first; codeOf(err) != codes.DeadlineExceeded {
				t.Errorf("the first caller got %v, want DeadlineExceeded", err)
			}

			// Calls for other disks and other paths, and calls that only look, go on.
			if _, err := n.Disk.SetDiskState(t.Context(), &disk.SetDiskStateRequest{DiskNumber: 2, IsOnline: true}); err != nil {
				t.Errorf("another disk: %v", err)
			}
			if _, err := n.Disk.GetDiskStats(t.Context(), &disk.GetDiskStatsRequest{DiskNumber: 1}); err != nil {
				t.Errorf("the size of the disk: %v", err)
			}
			if _, err := n.Filesystem.Mkdir(t.Context(), &filesystem.MkdirRequest{Path: pods + `\elsewhere`}); err != nil {
				t.Errorf("another path: %v", err)
			}
			again, cancelAgain := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancelAgain()
			if err := v.call(again); codeOf(err) != codes.DeadlineExceeded {
				t.Errorf("the second caller got %v, want DeadlineExceeded", err)
			}

			waiting(t, 0) // the agent, too, has noticed that the first two callers have gone
			second, third := make(chan error, 1), make(chan error, 1)
			go func() { second <- v.call(t.Context()) }()
			go func() { third <- v.call(t.Context()) }()
			waiting(t, 2)
			release()
			for _, result := range []chan error{second, third} {
				if err := <-result; err != nil {
					t.Errorf("after the release: %v", err)
				}
			}
			times := 0
			for _, call := range n.Faults.Calls() {
				if call.Function == v.probe {
					times++
				}
			}
			if times != v.times {
				t.Errorf("the kernel's %s was called %d times, want %d: identical calls are not joined", v.probe, times, v.times)
			}
			noError(t, v.call(t.Context())) // and a retry
		})
	}
}

// A kernel call that panics ends the call that made it, and everything that it held is released.
func TestPanickingKernelCalls(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	for _, v := range verbs(n, raw(t, n)) {
		t.Run(v.name, func(t *testing.T) {
			n.Faults.Add(testnode.Fault{Function: v.function, Times: 1, Panic: true})
			err := v.call(t.Context())
			wantCode(t, v.name, err, codes.Internal)
			if text := status.Convert(err).Message(); text == "" || len(text) > 300 {
				t.Errorf("the caller is told %q", text)
			}
			noError(t, v.call(t.Context()))
		})
	}
}

// waiting returns when exactly that many calls wait in the agent for their operation. The agent is in this process and
// reports nothing about calls that have not ended; its goroutines do.
func waiting(t *testing.T, calls int) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	buffer := make([]byte, 4<<20)
	for strings.Count(string(buffer[:runtime.Stack(buffer, true)]), "/node.changeTo[...](") != calls {
		if time.Now().After(deadline) {
			t.Fatalf("there were never %d calls waiting in the agent", calls)
		}
		runtime.Gosched()
	}
}

func await(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(5 * time.Minute):
		t.Fatalf("%s was not reached", what)
	}
}
