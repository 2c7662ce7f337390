// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// The path of the life's volume, and the paths that it leaves alone.
const (
	pods    = `C:\var\lib\kubelet\pods\negotiation`
	staging = `C:\var\lib\kubelet\plugins\negotiation\globalmount`
	share   = `\\fs.emulated\share`
	freshID = uint32(1) // the number of the blank disk of the default scenario
)

// A step is one call of a volume's life and its result, in words that do not change from node to node.
type step struct {
	name string
	call func(context.Context, *life) (string, error)
}

// life is the state that the steps share.
type life struct {
	*csiproxy.Client
	volume string
}

// outcome formats the step's result as a line: the answer, or the kind of failure.
func (s step) outcome(ctx context.Context, l *life) string {
	answer, err := s.call(ctx, l)
	var e *csiproxy.Error
	switch {
	case err == nil:
		return "OK " + answer
	case errors.Is(err, csiproxy.ErrUnsupported) && errors.As(err, &e):
		return "unsupported: " + e.Message
	case errors.As(err, &e):
		return fmt.Sprintf("%v %s", e.Code, e.Reason)
	default:
		return "untyped: " + err.Error()
	}
}

// lifeSteps calls every method of every group at least once, in the order in which a driver would, with repeats and
// failures among them.
func lifeSteps() []step {
	return []step{
		{"rescan", func(ctx context.Context, l *life) (string, error) {
			_, err := l.Disk.Rescan(ctx, &diskapi.RescanRequest{})
			return "", err
		}},
		{"ids of the disks", func(ctx context.Context, l *life) (string, error) {
			r, err := l.Disk.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{})
			return fmt.Sprint(len(r.GetDiskIDs()), r.GetDiskIDs()[freshID].GetPage83(),
				r.GetDiskIDs()[freshID].GetSerialNumber()), err
		}},
		{"locations of the disks", func(ctx context.Context, l *life) (string, error) {
			r, err := l.Disk.ListDiskLocations(ctx, &diskapi.ListDiskLocationsRequest{})
			return fmt.Sprint(len(r.GetDiskLocations()), r.GetDiskLocations()[freshID].GetLUNID()), err
		}},
		{"volumes of a raw disk", func(ctx context.Context, l *life) (string, error) {
			_, err := l.Volume.ListVolumesOnDisk(ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: freshID})
			return "", err
		}},
		{"partition", func(ctx context.Context, l *life) (string, error) {
			_, err := l.Disk.PartitionDisk(ctx, &diskapi.PartitionDiskRequest{DiskNumber: freshID})
			return "", err
		}},
		{"online", func(ctx context.Context, l *life) (string, error) {
			_, err := l.Disk.SetDiskState(ctx, &diskapi.SetDiskStateRequest{DiskNumber: freshID, IsOnline: true})
			return "", err
		}},
		{"state of the disk", func(ctx context.Context, l *life) (string, error) {
			r, err := l.Disk.GetDiskState(ctx, &diskapi.GetDiskStateRequest{DiskNumber: freshID})
			return fmt.Sprint(r.GetIsOnline()), err
		}},
		{"size of the disk", func(ctx context.Context, l *life) (string, error) {
			r, err := l.Disk.GetDiskStats(ctx, &diskapi.GetDiskStatsRequest{DiskNumber: freshID})
			return fmt.Sprint(r.GetTotalBytes()), err
		}},
		{"size of a disk that is not there", func(ctx context.Context, l *life) (string, error) {
			_, err := l.Disk.GetDiskStats(ctx, &diskapi.GetDiskStatsRequest{DiskNumber: 77})
			return "", err
		}},
		{"volumes of one partition", func(ctx context.Context, l *life) (string, error) {
			r, err := l.Volume.ListVolumesOnDisk(ctx,
				&volumeapi.ListVolumesOnDiskRequest{DiskNumber: freshID, PartitionNumber: 2})
			return fmt.Sprint(len(r.GetVolumeIds())), err
		}},
		{"volumes of the disk", func(ctx context.Context, l *life) (string, error) {
			r, err := l.Volume.ListVolumesOnDisk(ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: freshID})
			if err == nil {
				l.volume = r.GetVolumeIds()[0]
			}
			return fmt.Sprint(len(r.GetVolumeIds())), err
		}},
		{"formatted before", isFormatted},
		{"format", func(ctx context.Context, l *life) (string, error) {
			_, err := l.Volume.FormatVolume(ctx, &volumeapi.FormatVolumeRequest{VolumeId: l.volume})
			return "", err
		}},
		{"formatted after", isFormatted},
		{"nothing mounted", volumeAt},
		{"directory", func(ctx context.Context, l *life) (string, error) {
			_, err := l.Filesystem.Mkdir(ctx, &filesystemapi.MkdirRequest{Path: staging})
			return "", err
		}},
		{"directory outside", func(ctx context.Context, l *life) (string, error) {
			_, err := l.Filesystem.Mkdir(ctx, &filesystemapi.MkdirRequest{Path: `C:\elsewhere`})
			return "", err
		}},
		{"mount", mount},
		{"mount again", mount},
		{"volume at the mount point", volumeAt},
		{"closest volume", func(ctx context.Context, l *life) (string, error) {
			r, err := l.Volume.GetClosestVolumeIDFromTargetPath(ctx,
				&volumeapi.GetClosestVolumeIDFromTargetPathRequest{TargetPath: staging})
			return fmt.Sprint(r.GetVolumeId() == l.volume), err
		}},
		{"disk of the volume", func(ctx context.Context, l *life) (string, error) {
			r, err := l.Volume.GetDiskNumberFromVolumeID(ctx, &volumeapi.GetDiskNumberFromVolumeIDRequest{VolumeId: l.volume})
			return fmt.Sprint(r.GetDiskNumber()), err
		}},
		{"stats", func(ctx context.Context, l *life) (string, error) {
			r, err := l.Volume.GetVolumeStats(ctx, &volumeapi.GetVolumeStatsRequest{VolumeId: l.volume})
			return fmt.Sprint(r.GetTotalBytes(), r.GetUsedBytes()), err
		}},
		{"resize", func(ctx context.Context, l *life) (string, error) {
			_, err := l.Volume.ResizeVolume(ctx, &volumeapi.ResizeVolumeRequest{VolumeId: l.volume})
			return "", err
		}},
		{"write cache", func(ctx context.Context, l *life) (string, error) {
			_, err := l.Volume.WriteVolumeCache(ctx, &volumeapi.WriteVolumeCacheRequest{VolumeId: l.volume})
			return "", err
		}},
		{"parent of the link", func(ctx context.Context, l *life) (string, error) {
			_, err := l.Filesystem.Mkdir(ctx, &filesystemapi.MkdirRequest{Path: pods})
			return "", err
		}},
		{"link", link},
		{"the same link again", link},
		{"is it a link", func(ctx context.Context, l *life) (string, error) {
			r, err := l.Filesystem.IsSymlink(ctx, &filesystemapi.IsSymlinkRequest{Path: pods + `\mount`})
			return fmt.Sprint(r.GetIsSymlink()), err
		}},
		{"is a missing path a link", func(ctx context.Context, l *life) (string, error) {
			_, err := l.Filesystem.IsSymlink(ctx, &filesystemapi.IsSymlinkRequest{Path: pods + `\missing`})
			return "", err
		}},
		{"a path that is not there", func(ctx context.Context, l *life) (string, error) {
			r, err := l.Filesystem.PathExists(ctx, &filesystemapi.PathExistsRequest{Path: pods + `\missing`})
			return fmt.Sprint(r.GetExists()), err
		}},
		{"a path outside", func(ctx context.Context, l *life) (string, error) {
			_, err := l.Filesystem.PathExists(ctx, &filesystemapi.PathExistsRequest{Path: `C:\Windows`})
			return "", err
		}},
		{"remove a directory that is not empty", func(ctx context.Context, l *life) (string, error) {
			_, err := l.Filesystem.Rmdir(ctx, &filesystemapi.RmdirRequest{Path: pods})
			return "", err
		}},
		{"remove the link", func(ctx context.Context, l *life) (string, error) {
			_, err := l.Filesystem.Rmdir(ctx, &filesystemapi.RmdirRequest{Path: pods + `\mount`, Force: true})
			return "", err
		}},
		{"clear the directory", func(ctx context.Context, l *life) (string, error) {
			_, err := l.Filesystem.RmdirContents(ctx, &filesystemapi.RmdirContentsRequest{Path: pods})
			return "", err
		}},
		{"unmount", func(ctx context.Context, l *life) (string, error) {
			_, err := l.Volume.UnmountVolume(ctx, &volumeapi.UnmountVolumeRequest{VolumeId: l.volume, TargetPath: staging})
			return "", err
		}},
		{"offline", func(ctx context.Context, l *life) (string, error) {
			_, err := l.Disk.SetDiskState(ctx, &diskapi.SetDiskStateRequest{DiskNumber: freshID})
			return "", err
		}},
		{"map a share with a wrong password", func(ctx context.Context, l *life) (string, error) {
			_, err := l.SMB.NewSmbGlobalMapping(ctx, &smbapi.NewSmbGlobalMappingRequest{RemotePath: share,
				Username: "csi", Password: "wrong"})
			return "", err
		}},
		{"map a share", func(ctx context.Context, l *life) (string, error) {
			_, err := l.SMB.NewSmbGlobalMapping(ctx, &smbapi.NewSmbGlobalMappingRequest{RemotePath: share,
				LocalPath: pods + `\share`, Username: "csi", Password: "csi-password"})
			return "", err
		}},
		{"remove the mapping", func(ctx context.Context, l *life) (string, error) {
			_, err := l.SMB.RemoveSmbGlobalMapping(ctx, &smbapi.RemoveSmbGlobalMappingRequest{RemotePath: share})
			return "", err
		}},
		{"add a portal", func(ctx context.Context, l *life) (string, error) {
			_, err := l.ISCSI.AddTargetPortal(ctx, &iscsiapi.AddTargetPortalRequest{TargetPortal: portal()})
			return "", err
		}},
		{"discover", func(ctx context.Context, l *life) (string, error) {
			r, err := l.ISCSI.DiscoverTargetPortal(ctx, &iscsiapi.DiscoverTargetPortalRequest{TargetPortal: portal()})
			return strings.Join(r.GetIqns(), " "), err
		}},
		{"mutual secret", func(ctx context.Context, l *life) (string, error) {
			_, err := l.ISCSI.SetMutualChapSecret(ctx, &iscsiapi.SetMutualChapSecretRequest{MutualChapSecret: "mutual-secret1"})
			return "", err
		}},
		{"log in without CHAP", func(ctx context.Context, l *life) (string, error) {
			_, err := l.ISCSI.ConnectTarget(ctx, &iscsiapi.ConnectTargetRequest{TargetPortal: portal(),
				Iqn: "iqn.2026-01.emulated:chap"})
			return "", err
		}},
		{"serial number", func(ctx context.Context, l *life) (string, error) {
			r, err := l.System.GetBIOSSerialNumber(ctx, &systemapi.GetBIOSSerialNumberRequest{})
			return r.GetSerialNumber(), err
		}},
		{"a service", func(ctx context.Context, l *life) (string, error) {
			r, err := l.System.GetService(ctx, &systemapi.GetServiceRequest{Name: "MSiSCSI"})
			return r.GetStatus().String(), err
		}},
	}
}

func portal() *iscsiapi.TargetPortal {
	return &iscsiapi.TargetPortal{TargetAddress: "192.0.2.10", TargetPort: 3260}
}

func isFormatted(ctx context.Context, l *life) (string, error) {
	r, err := l.Volume.IsVolumeFormatted(ctx, &volumeapi.IsVolumeFormattedRequest{VolumeId: l.volume})
	return fmt.Sprint(r.GetFormatted()), err
}

func mount(ctx context.Context, l *life) (string, error) {
	_, err := l.Volume.MountVolume(ctx, &volumeapi.MountVolumeRequest{VolumeId: l.volume, TargetPath: staging})
	return "", err
}

func volumeAt(ctx context.Context, l *life) (string, error) {
	r, err := l.Volume.GetVolumeIDFromTargetPath(ctx, &volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: staging})
	return fmt.Sprint(r.GetVolumeId() == l.volume), err
}

func link(ctx context.Context, l *life) (string, error) {
	_, err := l.Filesystem.CreateSymlink(ctx, &filesystemapi.CreateSymlinkRequest{SourcePath: staging,
		TargetPath: pods + `\mount`})
	return "", err
}
