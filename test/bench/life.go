// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent"
)

// A life is one volume's, from the attached disk to the disk that is offline again.
type life struct {
	*hubs
	mount, link string
	number      uint32
	id          string
	took        []time.Duration // each step
}

// steps are the calls of a driver that stages, publishes, grows, unpublishes and unstages a volume.
func (l *life) steps() []step {
	return []step{
		{"disk Rescan", func(ctx context.Context) error { return second(l.disk.Rescan(ctx, &disk.RescanRequest{})) }},
		{"disk ListDiskIDs", func(ctx context.Context) error { return second(l.disk.ListDiskIDs(ctx, &disk.ListDiskIDsRequest{})) }},
		{"disk PartitionDisk", func(ctx context.Context) error {
			return second(l.disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: l.number}))
		}},
		{"volume ListVolumesOnDisk", func(ctx context.Context) error {
			r, err := l.volume.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: l.number})
			if err == nil {
				l.id = r.GetVolumeIds()[0]
			}
			return err
		}},
		{"volume IsVolumeFormatted", func(ctx context.Context) error {
			return second(l.volume.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeId: l.id}))
		}},
		{"volume FormatVolume", func(ctx context.Context) error {
			return second(l.volume.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeId: l.id}))
		}},
		{"filesystem Mkdir", func(ctx context.Context) error {
			return second(l.files.Mkdir(ctx, &filesystem.MkdirRequest{Path: l.mount}))
		}},
		{"volume MountVolume", func(ctx context.Context) error {
			return second(l.volume.MountVolume(ctx, &volume.MountVolumeRequest{VolumeId: l.id, TargetPath: l.mount}))
		}},
		{"filesystem CreateSymlink", func(ctx context.Context) error {
			return second(l.files.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: l.mount, TargetPath: l.link}))
		}},
		{"filesystem IsSymlink", func(ctx context.Context) error {
			return second(l.files.IsSymlink(ctx, &filesystem.IsSymlinkRequest{Path: l.link}))
		}},
		{"volume GetVolumeIDFromTargetPath", func(ctx context.Context) error {
			return second(l.volume.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: l.link}))
		}},
		{"volume GetVolumeStats", func(ctx context.Context) error {
			return second(l.volume.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeId: l.id}))
		}},
		{"volume ResizeVolume", func(ctx context.Context) error {
			return second(l.volume.ResizeVolume(ctx, &volume.ResizeVolumeRequest{VolumeId: l.id}))
		}},
		{"filesystem Rmdir, of the link", func(ctx context.Context) error {
			return second(l.files.Rmdir(ctx, &filesystem.RmdirRequest{Path: l.link}))
		}},
		{"volume UnmountVolume", func(ctx context.Context) error {
			return second(l.volume.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeId: l.id, TargetPath: l.mount}))
		}},
		{"filesystem Rmdir", func(ctx context.Context) error {
			return second(l.files.Rmdir(ctx, &filesystem.RmdirRequest{Path: l.mount}))
		}},
		{"volume GetDiskNumberFromVolumeID", func(ctx context.Context) error {
			return second(l.volume.GetDiskNumberFromVolumeID(ctx, &volume.GetDiskNumberFromVolumeIDRequest{VolumeId: l.id}))
		}},
		{"disk SetDiskState, offline", func(ctx context.Context) error {
			return second(l.disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: l.number}))
		}},
	}
}

type step struct {
	name string
	do   func(context.Context) error
}

// second drops the response.
func second[T any](_ T, err error) error { return err }

// live attaches a disk, takes the time of each step with it and detaches it. The disk grows before the step that
// resizes its volume.
func (l *life) live(ctx context.Context, name int) (err error) {
	l.mount = fmt.Sprintf(`%s\plugins\bench.example\life-%d`, agent.KubeletDir, name)
	l.link = fmt.Sprintf(`%s\life-%d`, linkDir, name)
	const adapter = 7 // where no prepared disk is
	attached, err := l.node.AttachDisk(ctx, &admin.AttachDiskRequest{SizeBytes: diskBytes, Adapter: adapter, SerialNumber: fmt.Sprintf("life-%d", name)})
	if err != nil {
		return err
	}
	l.number = attached.GetDiskNumber()
	defer func() { err = errors.Join(err, l.detach(context.WithoutCancel(ctx))) }()
	for _, s := range l.steps() {
		if s.name == "volume ResizeVolume" {
			if _, err := l.node.GrowDisk(ctx, &admin.GrowDiskRequest{DiskNumber: l.number, SizeBytes: 2 * diskBytes}); err != nil {
				return err
			}
		}
		begin := time.Now()
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		l.took = append(l.took, time.Since(begin))
	}
	return nil
}

func (l *life) detach(ctx context.Context) error {
	r, err := l.node.DetachDisk(ctx, &admin.DetachDiskRequest{DiskNumber: l.number})
	if err != nil {
		return err
	}
	return os.Remove(r.GetImagePath())
}
