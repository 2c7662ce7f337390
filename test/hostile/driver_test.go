// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// honestSockets makes a copy of this program an honest driver of the agent whose sockets are in a directory. It reads and
// stages all the time, and writes a report for each line that it gets.
const honestSockets = "HOSTILE_HONEST_SOCKETS"

// honestReport is what a driver has seen since the last one.
type honestReport struct {
	Times           []time.Duration // of the quick reads that succeeded
	Sequences       int             // that succeeded
	LongestSequence time.Duration
	Failures        []string // the first few
	Failed          int      // how many there were
	Connections     int64    // opened since the start

	Reads             int           // see settle
	Median, P99, Most time.Duration // likewise
}

// honestDriver has what it does between two reports.
type honestDriver struct {
	client *csiproxy.Client

	mu        sync.Mutex
	reads     []time.Duration
	sequences []time.Duration
	failures  []string
	failed    int

	connections atomic.Int64
}

func honest(sockets string) int {
	d := &honestDriver{}
	d.client = csiproxy.New(csiproxy.Options{SocketDir: sockets, Restart: -1, Dial: []grpc.DialOption{grpc.WithStatsHandler(connectionCount{&d.connections})}})
	ctx, stop := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() { d.read(ctx) })
	ended.Go(func() { d.stage(ctx) })
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		text, _ := json.Marshal(d.report())
		fmt.Println(string(text))
	}
	stop()
	ended.Wait()
	return 0
}

// read makes quick reads, at the pace of a driver that polls.
func (d *honestDriver) read(ctx context.Context) {
	for ctx.Err() == nil {
		begin := time.Now()
		_, err := d.client.Filesystem.PathExists(ctx, &filesystem.PathExistsRequest{Path: kubelet + `\plugins`})
		d.note(ctx, &d.reads, begin, "reading", err)
		sleep(ctx, 5*time.Millisecond)
	}
}

// stage stages, publishes, unpublishes and unstages the volume on disk 1.
func (d *honestDriver) stage(ctx context.Context) {
	for ctx.Err() == nil {
		begin := time.Now()
		d.note(ctx, &d.sequences, begin, "staging", d.sequence(ctx))
		sleep(ctx, 20*time.Millisecond)
	}
}

func (d *honestDriver) sequence(ctx context.Context) error {
	const staging, published = kubelet + `\plugins\kubernetes.io\csi\honest\globalmount`, pods + `\honest\mount`
	if _, err := d.client.Disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: 1}); err != nil {
		return fmt.Errorf("PartitionDisk: %w", err)
	}
	volumes, err := d.client.Volume.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: 1})
	if err != nil || len(volumes.GetVolumeIds()) != 1 {
		return fmt.Errorf("ListVolumesOnDisk: %v, %w", volumes, err)
	}
	id := volumes.GetVolumeIds()[0]
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"FormatVolume", func() error {
			_, err := d.client.Volume.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeId: id})
			return err
		}},
		{"MountVolume", func() error {
			_, err := d.client.Volume.MountVolume(ctx, &volume.MountVolumeRequest{VolumeId: id, TargetPath: staging})
			return err
		}},
		{"GetVolumeStats", func() error {
			_, err := d.client.Volume.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeId: id})
			return err
		}},
		{"Mkdir", func() error {
			_, err := d.client.Filesystem.Mkdir(ctx, &filesystem.MkdirRequest{Path: pods + `\honest`})
			return err
		}},
		{"CreateSymlink", func() error {
			_, err := d.client.Filesystem.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: staging, TargetPath: published})
			return err
		}},
		{"Rmdir of the link", func() error {
			_, err := d.client.Filesystem.Rmdir(ctx, &filesystem.RmdirRequest{Path: published})
			return err
		}},
		{"UnmountVolume", func() error {
			_, err := d.client.Volume.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeId: id, TargetPath: staging})
			return err
		}},
		{"Rmdir", func() error {
			_, err := d.client.Filesystem.Rmdir(ctx, &filesystem.RmdirRequest{Path: staging})
			return err
		}},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// note keeps how long something took, or why it failed.
func (d *honestDriver) note(ctx context.Context, times *[]time.Duration, begin time.Time, what string, err error) {
	took := time.Since(begin)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil:
		*times = append(*times, took)
	case ctx.Err() == nil:
		d.failed++
		if len(d.failures) < 5 {
			d.failures = append(d.failures, fmt.Sprintf("%s, after %v: %v", what, took, err))
		}
	}
}

// report returns what was noted and forgets it.
func (d *honestDriver) report() honestReport {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := honestReport{Times: d.reads, Sequences: len(d.sequences), Failures: d.failures, Failed: d.failed, Connections: d.connections.Load()}
	if len(d.sequences) > 0 {
		r.LongestSequence = slices.Max(d.sequences)
	}
	d.reads, d.sequences, d.failures, d.failed = nil, nil, nil, 0
	return r
}

// connectionCount counts the connections that gRPC opens.
type connectionCount struct{ opened *atomic.Int64 }

func (connectionCount) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (connectionCount) HandleRPC(context.Context, stats.RPCStats) {}

func (connectionCount) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (c connectionCount) HandleConn(_ context.Context, s stats.ConnStats) {
	if _, begun := s.(*stats.ConnBegin); begun {
		c.opened.Add(1)
	}
}
