// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	iscsi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
)

// A place holds what the reads ask about on a node.
type place struct {
	disk         uint32
	volume       string // empty: none is known
	link, inside string // paths
	service      string
}

// A read is a call that changes nothing.
type read struct {
	group, method     string
	request, response proto.Message
	all               bool // it asks about all disks, so more disks are more work
}

// reads returns the read-only methods.
func reads(at place) []read {
	all := []read{
		{"disk", "ListDiskLocations", &disk.ListDiskLocationsRequest{}, &disk.ListDiskLocationsResponse{}, true},
		{"disk", "ListDiskIDs", &disk.ListDiskIDsRequest{}, &disk.ListDiskIDsResponse{}, true},
		{"disk", "GetDiskStats", &disk.GetDiskStatsRequest{DiskNumber: at.disk}, &disk.GetDiskStatsResponse{}, false},
		{"disk", "GetDiskState", &disk.GetDiskStateRequest{DiskNumber: at.disk}, &disk.GetDiskStateResponse{}, false},
		{"filesystem", "PathExists", &filesystem.PathExistsRequest{Path: at.link}, &filesystem.PathExistsResponse{}, false},
		{"filesystem", "IsSymlink", &filesystem.IsSymlinkRequest{Path: at.link}, &filesystem.IsSymlinkResponse{}, false},
		{"volume", "ListVolumesOnDisk", &volume.ListVolumesOnDiskRequest{DiskNumber: at.disk},
			&volume.ListVolumesOnDiskResponse{}, false},
		{"volume", "GetVolumeIDFromTargetPath", &volume.GetVolumeIDFromTargetPathRequest{TargetPath: at.link},
			&volume.GetVolumeIDFromTargetPathResponse{}, false},
		{"volume", "GetClosestVolumeIDFromTargetPath", &volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: at.inside},
			&volume.GetClosestVolumeIDFromTargetPathResponse{}, false},
		{"iscsi", "ListTargetPortals", &iscsi.ListTargetPortalsRequest{}, &iscsi.ListTargetPortalsResponse{}, false},
		{"system", "GetBIOSSerialNumber", &systemapi.GetBIOSSerialNumberRequest{},
			&systemapi.GetBIOSSerialNumberResponse{}, false},
		{"system", "GetService", &systemapi.GetServiceRequest{Name: at.service}, &systemapi.GetServiceResponse{}, false},
	}
	if at.volume == "" {
		return all
	}
	return append(all,
		read{"volume", "IsVolumeFormatted", &volume.IsVolumeFormattedRequest{VolumeId: at.volume},
			&volume.IsVolumeFormattedResponse{}, false},
		read{"volume", "GetVolumeStats", &volume.GetVolumeStatsRequest{VolumeId: at.volume},
			&volume.GetVolumeStatsResponse{}, false},
		read{"volume", "GetDiskNumberFromVolumeID", &volume.GetDiskNumberFromVolumeIDRequest{VolumeId: at.volume},
			&volume.GetDiskNumberFromVolumeIDResponse{}, false})
}

// on returns the read as a call to one node.
func (r read) on(n node) call {
	return func(ctx context.Context) error {
		return n.call(ctx, r.group, r.method, r.request, r.response.ProtoReflect().New().Interface())
	}
}

// A readRow is the result for one read and the echo beside it: kernel calls, and milliseconds.
type readRow struct {
	Name           string
	Failure        string // why it was not measured
	All            bool   // it asks about all disks
	Kernel         int    // 0: not known
	One, EchoOne   figure
	Many, EchoMany figure
}

// callers is how many callers call at once, apart from the runs with one.
const callers = 64

// measureReads measures all reads of a node beside the echo.
func measureReads(ctx context.Context, o options, at place, n node, echo *grpc.ClientConn) (rows []readRow, err error) {
	for _, r := range reads(at) {
		row := readRow{Name: r.group + " " + r.method, All: r.all}
		if err := n.call(ctx, r.group, r.method, r.request, r.response); err != nil {
			row.Failure = status.Code(err).String()
			rows = append(rows, row)
			continue
		}
		if row.Kernel, err = n.kernelCalls(ctx, r.on(n)); err != nil {
			return nil, err
		}
		calls := [2]call{r.on(n), echoOf(echo, r.request, r.response)}
		one, err := inTurns(ctx, o, 1, calls)
		if err != nil {
			return nil, err
		}
		many, err := inTurns(ctx, o, callers, calls)
		if err != nil {
			return nil, err
		}
		row.One, row.EchoOne, row.Many, row.EchoMany = one[0], one[1], many[0], many[1]
		rows = append(rows, row)
	}
	return rows, nil
}
