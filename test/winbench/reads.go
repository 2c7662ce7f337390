// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
)

// plugins is a directory that every node has.
const plugins = `C:\var\lib\kubelet\plugins`

// A read is a call that changes nothing.
type read struct {
	name              string
	pipe, path        string
	request, response proto.Message
}

func readOf(group, version, service, method string, request, response proto.Message) read {
	return read{name: group + " " + method, pipe: pipeOf(group, version), path: "/" + version + "." + service + "/" + method, request: request, response: response}
}

// commonReads need nothing but a directory and a service that is always there.
func commonReads(service string) []read {
	return []read{
		readOf("system", "v1alpha1", "System", "GetBIOSSerialNumber", &systemapi.GetBIOSSerialNumberRequest{}, &systemapi.GetBIOSSerialNumberResponse{}),
		readOf("system", "v1alpha1", "System", "GetService", &systemapi.GetServiceRequest{Name: service}, &systemapi.GetServiceResponse{}),
		readOf("filesystem", "v2alpha1", "Filesystem", "PathExists", &filesystem.PathExistsRequest{Path: plugins}, &filesystem.PathExistsResponse{}),
		readOf("filesystem", "v2alpha1", "Filesystem", "IsSymlink", &filesystem.IsSymlinkRequest{Path: plugins}, &filesystem.IsSymlinkResponse{}),
	}
}

// diskReads are about the node's disk 0.
func diskReads() []read {
	return []read{
		readOf("disk", "v1", "Disk", "GetDiskStats", &disk.GetDiskStatsRequest{}, &disk.GetDiskStatsResponse{}),
		readOf("disk", "v1", "Disk", "GetDiskState", &disk.GetDiskStateRequest{}, &disk.GetDiskStateResponse{}),
		readOf("disk", "v1", "Disk", "ListDiskIDs", &disk.ListDiskIDsRequest{}, &disk.ListDiskIDsResponse{}),
		readOf("disk", "v1", "Disk", "ListDiskLocations", &disk.ListDiskLocationsRequest{}, &disk.ListDiskLocationsResponse{}),
		readOf("volume", "v2alpha1", "Volume", "ListVolumesOnDisk", &volume.ListVolumesOnDiskRequest{}, &volume.ListVolumesOnDiskResponse{}),
	}
}

func windowsReads() []read { return append(commonReads("Spooler"), diskReads()...) }

func emulatedReads() []read { return append(commonReads("W32Time"), diskReads()...) }

// A reading is what calling a read gave.
type reading struct {
	name      string
	failure   string // the code with which the call fails here; empty: it was measured
	latencies series
	echo      series
	ratios    []float64 // of the medians of each round
}

// call calls each read of a program in turns with an echo of as many bytes.
func (r *results) call(ctx context.Context, p program) ([]reading, error) {
	if err := os.MkdirAll(plugins, 0o750); err != nil {
		return nil, err
	}
	stop, err := startEcho(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	echo, err := dial.Open(ctx, echoPipe, dial.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = echo.Close() }()
	var readings []reading
	for _, read := range p.reads {
		conn, err := dial.Open(ctx, read.pipe, dial.Options{})
		if err != nil {
			return nil, err
		}
		reading, err := r.compare(ctx, read, conn, echo)
		_ = conn.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", read.name, err)
		}
		readings = append(readings, reading)
	}
	return readings, nil
}

func (r *results) compare(ctx context.Context, read read, conn, echo *grpc.ClientConn) (reading, error) {
	result := reading{name: read.name}
	if err := conn.Invoke(ctx, read.path, read.request, read.response); err != nil {
		result.failure = status.Code(err).String()
		return result, nil
	}
	const overhead = 2 // tag and length of the field
	message := wrapperspb.Bytes(make([]byte, max((proto.Size(read.request)+proto.Size(read.response))/2-overhead, 0)))
	call := func() error { return conn.Invoke(ctx, read.path, read.request, read.response) }
	answer := func() error { return echo.Invoke(ctx, echoPath, message, new(wrapperspb.BytesValue)) }
	if err := answer(); err != nil {
		return result, err
	}
	for round := range r.options.rounds {
		var of [2]series
		for i := range of {
			i = (i + round) % 2 // not always the same one first
			var err error
			if of[i], err = repeat([]func() error{call, answer}[i], r.options.slice); err != nil {
				return result, err
			}
		}
		result.latencies, result.echo = append(result.latencies, of[0]...), append(result.echo, of[1]...)
		result.ratios = append(result.ratios, float64(of[0].median())/float64(of[1].median()))
	}
	return result, nil
}

// repeat calls one call after the other until the time is over, and at least once.
func repeat(call func() error, slice time.Duration) (s series, err error) {
	begin := time.Now()
	for until := begin.Add(slice); len(s) == 0 || begin.Before(until); {
		if err := call(); err != nil {
			return nil, err
		}
		end := time.Now()
		s = append(s, end.Sub(begin))
		begin = end
	}
	return s, nil
}
