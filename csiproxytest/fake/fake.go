// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	api "github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
)

// A Disk is a raw disk of the node. Its number is its place in New's list.
type Disk struct {
	SizeBytes                 int64
	SerialNumber, Page83, LUN string
}

// A Node is what the calls of its client see and change. It is safe for concurrent use.
type Node struct {
	mu       sync.Mutex
	calls    []string
	failures map[string]error
	disks    []*disk
	entries  map[string]entry // what is at a path, folded
}

// New returns a node with disks and kubelet's directory. Calls of iSCSI and of Windows' services succeed and do
// nothing.
func New(disks ...Disk) *Node {
	n := &Node{failures: map[string]error{}, entries: map[string]entry{}}
	for i, d := range disks {
		n.disks = append(n.disks, &disk{Disk: d, number: uint32(i)})
	}
	n.put(kubelet, entry{})
	return n
}

// Client returns a client of the node. It needs not be closed.
func (n *Node) Client() *api.Client { return api.Over(connection{node: n}) }

// Calls returns the methods that were called, such as "MountVolume", the first one first.
func (n *Node) Calls() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.calls)
}

// Fail makes the calls of a method fail from now on, without taking effect: with a code and one of the reasons of
// package reason, by which errors.Is knows the failure. codes.OK ends it.
func (n *Node) Fail(method string, code codes.Code, why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failures[method] = failure(code, why, "the test makes "+method+" fail")
}

// failure returns an error as an agent sends it, or nil for codes.OK.
func failure(code codes.Code, why, text string) error {
	s := status.New(code, text)
	if detailed, err := s.WithDetails(&errdetails.ErrorInfo{Domain: "csi-proxy", Reason: why}); err == nil {
		s = detailed
	}
	return s.Err()
}

type connection struct{ node *Node }

// NewStream implements grpc.ClientConnInterface: the API has no streams.
func (connection) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "the CSI Proxy API has no streams")
}

func (c connection) Invoke(ctx context.Context, method string, request, response any, _ ...grpc.CallOption) error {
	n, name := c.node, path.Base(method)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = append(n.calls, name)
	switch {
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	case n.failures[name] != nil:
		return n.failures[name]
	case strings.Contains(method, ".Nodesteps/"):
		return status.Error(codes.Unimplemented, "a fake has no steps; test them on a csiproxytest node")
	}
	return n.call(request, response)
}

const kubelet = `c:\var\lib\kubelet`

type disk struct {
	Disk
	number                         uint32
	online, partitioned, formatted bool
}

func (d *disk) volume() string {
	return fmt.Sprintf(`\\?\Volume{00000000-0000-0000-0000-%012d}\`, d.number)
}

// An entry is a directory, or a link or mount point.
type entry struct{ link, volume string }

func fold(path string) string { return strings.ToLower(strings.TrimRight(path, `\`)) }

// put makes an entry, and the directories above it.
func (n *Node) put(path string, e entry) {
	n.entries[path] = e
	for i := strings.LastIndexByte(path, '\\'); i > 0; i = strings.LastIndexByte(path[:i], '\\') {
		if _, ok := n.entries[path[:i]]; !ok {
			n.entries[path[:i]] = entry{}
		}
	}
}

// call does what the agent does, on a healthy node.
func (n *Node) call(request, response any) error {
	switch r := request.(type) {
	case *api.ListDiskIDsRequest:
		ids := map[uint32]*api.DiskIDs{}
		for _, d := range n.disks {
			ids[d.number] = &api.DiskIDs{SerialNumber: d.SerialNumber, Page83: d.Page83}
		}
		response.(*api.ListDiskIDsResponse).DiskIDs = ids
	case *api.ListDiskLocationsRequest:
		locations := map[uint32]*api.DiskLocation{}
		for _, d := range n.disks {
			locations[d.number] = &api.DiskLocation{Adapter: "0", Bus: "0", Target: "0", LUNID: d.LUN}
		}
		response.(*api.ListDiskLocationsResponse).DiskLocations = locations
	case interface{ GetDiskNumber() uint32 }:
		if int(r.GetDiskNumber()) >= len(n.disks) {
			return failure(codes.NotFound, reason.DiskNotFound, fmt.Sprintf("there is no disk %d", r.GetDiskNumber()))
		}
		return n.disks[r.GetDiskNumber()].call(request, response)
	case interface{ GetTargetPath() string }:
		return n.callPath(r.GetTargetPath(), request, response)
	case interface{ GetPath() string }:
		return n.callPath(r.GetPath(), request, response)
	case *api.NewSmbGlobalMappingRequest:
		return n.callPath(r.GetLocalPath(), request, response)
	case interface{ GetVolumeId() string }:
		d, err := n.diskOf(r.GetVolumeId())
		if err != nil {
			return err
		}
		return d.call(request, response)
	}
	return nil
}

func (n *Node) diskOf(volume string) (*disk, error) {
	for _, d := range n.disks {
		if d.partitioned && strings.EqualFold(d.volume(), volume) {
			return d, nil
		}
	}
	return nil, failure(codes.NotFound, reason.VolumeNotFound, "there is no volume "+volume)
}

// call does what concerns one disk, or its volume.
func (d *disk) call(request, response any) error {
	switch r := request.(type) {
	case *api.SetDiskStateRequest:
		d.online = r.GetIsOnline()
	case *api.GetDiskStateRequest:
		response.(*api.GetDiskStateResponse).IsOnline = d.online
	case *api.GetDiskStatsRequest:
		response.(*api.GetDiskStatsResponse).TotalBytes = d.SizeBytes
	case *api.PartitionDiskRequest:
		d.online, d.partitioned = true, true
	case *api.ListVolumesOnDiskRequest:
		switch {
		case d.partitioned:
			response.(*api.ListVolumesOnDiskResponse).VolumeIds = []string{d.volume()}
		case r.GetPartitionNumber() != 0:
			return failure(codes.FailedPrecondition, reason.DiskRaw, "the disk has no partitions")
		}
	case *api.FormatVolumeRequest:
		d.formatted = true
	case *api.IsVolumeFormattedRequest:
		response.(*api.IsVolumeFormattedResponse).Formatted = d.formatted
	case *api.GetDiskNumberFromVolumeIDRequest:
		response.(*api.GetDiskNumberFromVolumeIDResponse).DiskNumber = d.number
	case *api.ResizeVolumeRequest:
		if r.GetSizeBytes() > d.SizeBytes {
			return failure(codes.OutOfRange, reason.SizeOutOfRange, "the disk of the volume is smaller")
		}
	case *api.GetVolumeStatsRequest:
		response.(*api.GetVolumeStatsResponse).TotalBytes = d.SizeBytes
	}
	return nil
}

// callPath does what concerns a path.
func (n *Node) callPath(path string, request, response any) error {
	at := fold(path)
	if !strings.HasPrefix(at+`\`, kubelet+`\`) {
		return failure(codes.InvalidArgument, reason.OutsideWorkingDirs, path+" is not within the working directories")
	}
	there, exists := n.entries[at]
	below := func(path string, _ entry) bool { return strings.HasPrefix(path, at+`\`) }
	occupied := there.link != ""
	for path, e := range n.entries {
		occupied = occupied || below(path, e)
	}
	if r, ok := request.(interface{ GetVolumeId() string }); ok && there.volume != "" &&
		!strings.EqualFold(there.volume, r.GetVolumeId()) {
		return failure(codes.FailedPrecondition, reason.OtherVolumeMounted, "another volume is mounted at "+path)
	}
	notEmpty := failure(codes.FailedPrecondition, reason.DirectoryNotEmpty, path+" is not an empty directory")
	switch r := request.(type) {
	case *api.PathExistsRequest:
		response.(*api.PathExistsResponse).Exists = exists
	case *api.MkdirRequest:
		n.put(at, there)
	case *api.RmdirRequest:
		if occupied && there.link == "" && !r.GetForce() {
			return notEmpty
		}
		maps.DeleteFunc(n.entries, below)
		delete(n.entries, at)
	case *api.RmdirContentsRequest:
		maps.DeleteFunc(n.entries, below)
	case *api.CreateSymlinkRequest:
		return n.link(at, there, exists, r.GetSourcePath())
	case *api.NewSmbGlobalMappingRequest:
		return n.link(at, there, exists, r.GetRemotePath())
	case *api.IsSymlinkRequest:
		if !exists {
			return failure(codes.NotFound, reason.PathNotFound, path+" does not exist")
		}
		response.(*api.IsSymlinkResponse).IsSymlink = there != entry{}
	case *api.MountVolumeRequest:
		if _, err := n.diskOf(r.GetVolumeId()); err != nil {
			return err
		}
		if occupied {
			return notEmpty
		}
		n.put(at, entry{volume: r.GetVolumeId()})
	case *api.UnmountVolumeRequest:
		n.put(at, entry{link: there.link})
	case *api.GetVolumeIDFromTargetPathRequest:
		if there.link != "" {
			there = n.entries[fold(there.link)]
		}
		if there.volume == "" {
			return failure(codes.NotFound, reason.NotMounted, "no volume is mounted at "+path)
		}
		response.(*api.GetVolumeIDFromTargetPathResponse).VolumeId = there.volume
	}
	return nil
}

func (n *Node) link(at string, there entry, exists bool, target string) error {
	if exists && !strings.EqualFold(there.link, target) {
		return failure(codes.AlreadyExists, reason.PathExists, at+" exists")
	}
	n.put(at, entry{link: target})
	return nil
}
