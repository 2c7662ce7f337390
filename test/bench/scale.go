// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
)

const (
	podsAtOnce  = 64  // of a node that starts
	mostAtOnce  = 1.3 // times one stage
	statCallers = 16
)

// A scaleRow is the result for a node with many disks: what many things at once take, in milliseconds, beside one.
type scaleRow struct {
	Stages, Stage    figure // of podsAtOnce new volumes at once, and of one, with Windows' latencies
	Volumes          int    // of the node with many disks
	Stats, StatsEcho figure // GetVolumeStats by many callers, each time of another volume, and the echo
}

// measureStages stages volumes on a new emulated node, one and then many at once. The agent runs in this process, so
// that the node is not flushed to the host's disk: it does so under its lock, and 64 stages would wait for that disk.
func (b *bench) measureStages(ctx context.Context) error {
	a, n, err := startNode(ctx, filepath.Join(b.dir, "stages"))
	if err != nil {
		return err
	}
	defer func() {
		n.close()
		_ = a.Stop(ctx)
	}()
	for i := range 2 * min(loads, b.Rounds) {
		pods, to := 1, &b.Scale.Stage
		if i%2 == 1 {
			pods, to = podsAtOnce, &b.Scale.Stages
		}
		took, err := n.stageNew(ctx, uint32(10+i), pods)
		if err != nil {
			return err
		}
		*to = append(*to, took)
	}
	return nil
}

// measureStats asks for the sizes of all volumes of a node in turn, by many callers.
func (b *bench) measureStats(ctx context.Context, n node, echo *grpc.ClientConn) error {
	var listed disk.ListDiskIDsResponse
	if err := n.call(ctx, "disk", "ListDiskIDs", &disk.ListDiskIDsRequest{}, &listed); err != nil {
		return err
	}
	var requests []*volume.GetVolumeStatsRequest
	for number := range listed.GetDiskIDs() {
		var volumes volume.ListVolumesOnDiskResponse
		if err := n.call(ctx, "volume", "ListVolumesOnDisk", &volume.ListVolumesOnDiskRequest{DiskNumber: number},
			&volumes); err != nil {
			return err
		}
		requests = append(requests, &volume.GetVolumeStatsRequest{VolumeId: volumes.GetVolumeIds()[0]})
	}
	b.Scale.Volumes = len(requests)
	var next atomic.Uint32
	took, err := inTurns(ctx, b.options, statCallers, [2]call{
		func(ctx context.Context) error {
			return n.call(ctx, "volume", "GetVolumeStats", requests[int(next.Add(1))%len(requests)],
				&volume.GetVolumeStatsResponse{})
		},
		echoOf(echo, requests[0], &volume.GetVolumeStatsResponse{TotalBytes: diskBytes, UsedBytes: diskBytes}),
	})
	b.Scale.Stats, b.Scale.StatsEcho = took[0], took[1]
	return err
}

// stageNew attaches disks to an adapter and makes the calls of a driver that stages each of them, all at once, with the
// latencies that the emulated node has of Windows. It returns the milliseconds from the first call to the last answer.
func (n node) stageNew(ctx context.Context, adapter uint32, pods int) (took float64, err error) {
	serial := func(i int) string { return fmt.Sprintf("stage-%d-%d", adapter, i) }
	for i := range pods {
		err := n.call(ctx, "emulated", "AttachDisk", &admin.AttachDiskRequest{
			SizeBytes: diskBytes, Adapter: adapter, Target: uint32(i), SerialNumber: serial(i),
		}, &admin.AttachDiskResponse{})
		if err != nil {
			return 0, err
		}
	}
	if err := n.setTiming(ctx, "windows"); err != nil {
		return 0, err
	}
	var (
		stages sync.WaitGroup
		errs   = make([]error, pods)
		begin  = time.Now()
	)
	for i := range pods {
		stages.Go(func() { errs[i] = n.stage(ctx, serial(i)) })
	}
	stages.Wait()
	took = since(begin)
	return took, errors.Join(append(errs, n.setTiming(ctx, "none"))...)
}

func (n node) setTiming(ctx context.Context, timing string) error {
	return n.call(ctx, "emulated", "SetSwitch", &admin.SetSwitchRequest{Name: "timing", Value: timing},
		&admin.SetSwitchResponse{})
}

// stage looks for the disk with a serial number, and makes it a mounted volume.
func (n node) stage(ctx context.Context, serial string) error {
	if err := n.call(ctx, "disk", "Rescan", &disk.RescanRequest{}, &disk.RescanResponse{}); err != nil {
		return err
	}
	var ids disk.ListDiskIDsResponse
	if err := n.call(ctx, "disk", "ListDiskIDs", &disk.ListDiskIDsRequest{}, &ids); err != nil {
		return err
	}
	for number, id := range ids.GetDiskIDs() {
		if id.GetSerialNumber() != serial {
			continue
		}
		if err := n.call(ctx, "disk", "PartitionDisk", &disk.PartitionDiskRequest{DiskNumber: number},
			&disk.PartitionDiskResponse{}); err != nil {
			return err
		}
		var volumes volume.ListVolumesOnDiskResponse
		if err := n.call(ctx, "volume", "ListVolumesOnDisk", &volume.ListVolumesOnDiskRequest{DiskNumber: number},
			&volumes); err != nil {
			return err
		}
		id := volumes.GetVolumeIds()[0]
		if err := n.call(ctx, "volume", "FormatVolume", &volume.FormatVolumeRequest{VolumeId: id},
			&volume.FormatVolumeResponse{}); err != nil {
			return err
		}
		mount := plugins + `\bench.example\` + serial
		return n.call(ctx, "volume", "MountVolume", &volume.MountVolumeRequest{VolumeId: id, TargetPath: mount},
			&volume.MountVolumeResponse{})
	}
	return fmt.Errorf("no disk has the serial number %s", serial)
}

// scaleGoal judges the stages.
func (r *report) scaleGoal() goal {
	g := goal{Text: fmt.Sprintf("%d volumes staged at once, with Windows' latencies: ≤ %.1f × one",
		podsAtOnce, mostAtOnce)}
	g.judge("", r.Scale.Stages.over(r.Scale.Stage).span(), mostAtOnce, times)
	return g
}
