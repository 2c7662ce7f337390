// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

// diskBytes is the size of each data disk; the images are sparse.
const diskBytes = 64 << 20

// windowsService is on every Windows machine and under Wine.
const windowsService = "Spooler"

// The paths on a node.
const (
	plugins    = `C:\var\lib\kubelet\plugins`
	mountPath  = plugins + `\bench.example\mount`
	insidePath = mountPath + `\data`
	linkDir    = `C:\var\lib\kubelet\pods\bench`
	linkPath   = linkDir + `\mount`
)

// A node holds the clients of one agent, by the names of the API's groups: of each group the hub, which is the version
// that all others lead to, and besides these the two services of the admin endpoint.
type node map[string]service

type service struct {
	*grpc.ClientConn
	name string
}

// connect connects to the endpoints of an agent that is ready. Endpoints that it does not serve are left out.
func connect(ctx context.Context, p program) node {
	n := node{}
	open := func(key, endpoint, name string) {
		if conn, err := dial.Open(ctx, `\\.\pipe\`+endpoint, dial.Options{SocketDir: p.sockets}); err == nil {
			n[key] = service{conn, name}
		}
	}
	for _, g := range versions.Groups() {
		open(g.Name, "csi-proxy-"+g.Name+"-"+g.Hub, g.ServiceName(g.Hub))
	}
	open("admin", "csiproxy-admin", "csiproxy.admin.v1alpha1.Admin")
	open("emulated", "csiproxy-admin", "csiproxy.admin.v1alpha1.EmulatedNode")
	return n
}

func (n node) close() {
	for _, s := range n {
		_ = s.Close()
	}
}

// call calls a method as the generated clients do.
func (n node) call(ctx context.Context, group, method string, request, response proto.Message) error {
	s := n[group]
	if s.ClientConn == nil {
		return status.Error(codes.Unimplemented, group+" is not served")
	}
	return s.Invoke(ctx, "/"+s.name+"/"+method, request, response)
}

// prepare gives a new emulated node data disks in place of its own, each partitioned and formatted. It mounts the
// volume of the last one, and makes a directory in it and a link to it.
func (n node) prepare(ctx context.Context, disks uint32) (place, error) {
	at := place{link: linkPath, inside: insidePath, service: "MSiSCSI"}
	for _, own := range []uint32{2, 1} {
		if err := n.call(ctx, "emulated", "DetachDisk", &admin.DetachDiskRequest{DiskNumber: own},
			&admin.DetachDiskResponse{}); err != nil {
			return at, err
		}
	}
	for i := range disks {
		const perTarget = 200 // a target has at most 256 units
		identifier := &admin.Identifier{CodeSet: 1, Type: 3,
			Identifier: binary.BigEndian.AppendUint64([]byte{0x60, 0x02, 0x24, 0x80, 0, 0, 0, 0}, uint64(i))}
		var attached admin.AttachDiskResponse
		err := n.call(ctx, "emulated", "AttachDisk", &admin.AttachDiskRequest{
			SizeBytes: diskBytes, SerialNumber: fmt.Sprintf("bench-%d", i), Identifiers: []*admin.Identifier{identifier},
			Target: 1 + i/perTarget, Formatted: true,
		}, &attached)
		if err != nil {
			return at, err
		}
		at.disk = attached.GetDiskNumber()
	}
	var listed volume.ListVolumesOnDiskResponse
	err := n.call(ctx, "volume", "ListVolumesOnDisk", &volume.ListVolumesOnDiskRequest{DiskNumber: at.disk}, &listed)
	if err != nil || len(listed.GetVolumeIds()) != 1 {
		return at, fmt.Errorf("disk %d has the volumes %v: %w", at.disk, listed.GetVolumeIds(), err)
	}
	at.volume = listed.GetVolumeIds()[0]
	err = n.call(ctx, "volume", "MountVolume", &volume.MountVolumeRequest{VolumeId: at.volume, TargetPath: mountPath},
		&volume.MountVolumeResponse{})
	for _, dir := range []string{insidePath, linkDir} {
		err = errors.Join(err, n.call(ctx, "filesystem", "Mkdir", &filesystem.MkdirRequest{Path: dir},
			&filesystem.MkdirResponse{}))
	}
	return at, errors.Join(err, n.call(ctx, "filesystem", "CreateSymlink",
		&filesystem.CreateSymlinkRequest{SourcePath: mountPath, TargetPath: linkPath}, &filesystem.CreateSymlinkResponse{}))
}

// kernelCalls counts the kernel calls of one call from the emulated node's journal: unlike a time, the count is
// exact. Other nodes keep no journal, and the count is 0.
func (n node) kernelCalls(ctx context.Context, c call) (count int, err error) {
	var page admin.ListJournalResponse
	list := func(after uint64) error {
		return n.call(ctx, "admin", "ListJournal", &admin.ListJournalRequest{After: after}, &page)
	}
	if err := c(ctx); err != nil { // the agent remembers things from a first call
		return 0, err
	}
	if list(0) != nil {
		return 0, nil //nolint:nilerr // there is no journal
	}
	after := page.GetNewest()
	if err := c(ctx); err != nil {
		return 0, err
	}
	for {
		if err := list(after); err != nil {
			return 0, err
		}
		for _, entry := range page.GetEntries() {
			if entry.GetKernel() != nil {
				count++
			}
		}
		if after = page.GetSearched(); after >= page.GetNewest() {
			return count, nil
		}
	}
}

// measureLife takes a volume through its life, again and again, and returns the milliseconds of each life.
func measureLife(ctx context.Context, o options, n node) (lives figure, err error) {
	err = repeat(o.Rounds/2, func(round int) error {
		took, err := n.live(ctx, fmt.Sprintf("life-%d", round))
		lives = append(lives, took)
		return err
	}, func() []figure { return []figure{lives} })
	return lives, err
}

// live makes the calls of a driver that stages, publishes, grows, unpublishes and unstages a volume, on a disk that is
// attached for it. It returns the time of all the calls together.
func (n node) live(ctx context.Context, name string) (took float64, err error) {
	const adapter = 7 // where there is no other disk
	var (
		attached admin.AttachDiskResponse
		detached admin.DetachDiskResponse
		volumes  volume.ListVolumesOnDiskResponse
	)
	err = n.call(ctx, "emulated", "AttachDisk", &admin.AttachDiskRequest{SizeBytes: diskBytes, Adapter: adapter,
		SerialNumber: name}, &attached)
	if err != nil {
		return 0, err
	}
	number := attached.GetDiskNumber()
	do := func(group, method string, request, response proto.Message) {
		if err != nil {
			return
		}
		begin := time.Now()
		if err = n.call(ctx, group, method, request, response); err != nil {
			err = fmt.Errorf("%s %s: %w", group, method, err)
		}
		took += since(begin)
	}
	mount, link := plugins+`\bench.example\`+name, linkDir+`\`+name
	do("disk", "Rescan", &disk.RescanRequest{}, &disk.RescanResponse{})
	do("disk", "ListDiskIDs", &disk.ListDiskIDsRequest{}, &disk.ListDiskIDsResponse{})
	do("disk", "PartitionDisk", &disk.PartitionDiskRequest{DiskNumber: number}, &disk.PartitionDiskResponse{})
	do("volume", "ListVolumesOnDisk", &volume.ListVolumesOnDiskRequest{DiskNumber: number}, &volumes)
	id := append(volumes.GetVolumeIds(), "")[0]
	do("volume", "IsVolumeFormatted", &volume.IsVolumeFormattedRequest{VolumeId: id}, &volume.IsVolumeFormattedResponse{})
	do("volume", "FormatVolume", &volume.FormatVolumeRequest{VolumeId: id}, &volume.FormatVolumeResponse{})
	do("filesystem", "Mkdir", &filesystem.MkdirRequest{Path: mount}, &filesystem.MkdirResponse{})
	do("volume", "MountVolume", &volume.MountVolumeRequest{VolumeId: id, TargetPath: mount}, &volume.MountVolumeResponse{})
	do("filesystem", "CreateSymlink", &filesystem.CreateSymlinkRequest{SourcePath: mount, TargetPath: link},
		&filesystem.CreateSymlinkResponse{})
	do("filesystem", "IsSymlink", &filesystem.IsSymlinkRequest{Path: link}, &filesystem.IsSymlinkResponse{})
	do("volume", "GetVolumeIDFromTargetPath", &volume.GetVolumeIDFromTargetPathRequest{TargetPath: link},
		&volume.GetVolumeIDFromTargetPathResponse{})
	do("volume", "GetVolumeStats", &volume.GetVolumeStatsRequest{VolumeId: id}, &volume.GetVolumeStatsResponse{})
	if err == nil { // the cloud's part, which is not measured
		err = n.call(ctx, "emulated", "GrowDisk", &admin.GrowDiskRequest{DiskNumber: number, SizeBytes: 2 * diskBytes},
			&admin.GrowDiskResponse{})
	}
	do("volume", "ResizeVolume", &volume.ResizeVolumeRequest{VolumeId: id}, &volume.ResizeVolumeResponse{})
	do("filesystem", "Rmdir", &filesystem.RmdirRequest{Path: link}, &filesystem.RmdirResponse{})
	do("volume", "UnmountVolume", &volume.UnmountVolumeRequest{VolumeId: id, TargetPath: mount},
		&volume.UnmountVolumeResponse{})
	do("filesystem", "Rmdir", &filesystem.RmdirRequest{Path: mount}, &filesystem.RmdirResponse{})
	do("volume", "GetDiskNumberFromVolumeID", &volume.GetDiskNumberFromVolumeIDRequest{VolumeId: id},
		&volume.GetDiskNumberFromVolumeIDResponse{})
	do("disk", "SetDiskState", &disk.SetDiskStateRequest{DiskNumber: number}, &disk.SetDiskStateResponse{})
	if err == nil {
		err = n.call(ctx, "emulated", "DetachDisk", &admin.DetachDiskRequest{DiskNumber: number}, &detached)
	}
	if err == nil {
		err = os.RemoveAll(filepath.Dir(detached.GetImagePath()))
	}
	return took, err
}
