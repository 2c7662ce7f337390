// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	oldestdisk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1alpha1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	iscsi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	system "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

// A read is a method of a group's hub that changes nothing, with its messages.
type read struct {
	group, service, hub string
	method              string
	request, response   proto.Message
	all                 bool // it answers about all disks, so more disks are more work
}

// reads are the read-only methods of all hubs.
func reads(t *target) []read {
	d := func(method string, request, response proto.Message, all bool) read {
		return read{"disk", "Disk", "v1", method, request, response, all}
	}
	f := func(method string, request, response proto.Message) read {
		return read{"filesystem", "Filesystem", "v2alpha1", method, request, response, false}
	}
	v := func(method string, request, response proto.Message) read {
		return read{"volume", "Volume", "v2alpha1", method, request, response, false}
	}
	s := func(method string, request, response proto.Message) read {
		return read{"system", "System", "v1alpha1", method, request, response, false}
	}
	return []read{
		d("ListDiskLocations", &disk.ListDiskLocationsRequest{}, &disk.ListDiskLocationsResponse{}, true),
		d("ListDiskIDs", &disk.ListDiskIDsRequest{}, &disk.ListDiskIDsResponse{}, true),
		d("GetDiskStats", &disk.GetDiskStatsRequest{DiskNumber: t.disk}, &disk.GetDiskStatsResponse{}, false),
		d("GetDiskState", &disk.GetDiskStateRequest{DiskNumber: t.disk}, &disk.GetDiskStateResponse{}, false),
		f("PathExists", &filesystem.PathExistsRequest{Path: linkPath}, &filesystem.PathExistsResponse{}),
		f("IsSymlink", &filesystem.IsSymlinkRequest{Path: linkPath}, &filesystem.IsSymlinkResponse{}),
		v("ListVolumesOnDisk", &volume.ListVolumesOnDiskRequest{DiskNumber: t.disk}, &volume.ListVolumesOnDiskResponse{}),
		v("IsVolumeFormatted", &volume.IsVolumeFormattedRequest{VolumeId: t.volume}, &volume.IsVolumeFormattedResponse{}),
		v("GetVolumeStats", &volume.GetVolumeStatsRequest{VolumeId: t.volume}, &volume.GetVolumeStatsResponse{}),
		v("GetDiskNumberFromVolumeID", &volume.GetDiskNumberFromVolumeIDRequest{VolumeId: t.volume}, &volume.GetDiskNumberFromVolumeIDResponse{}),
		v("GetVolumeIDFromTargetPath", &volume.GetVolumeIDFromTargetPathRequest{TargetPath: linkPath}, &volume.GetVolumeIDFromTargetPathResponse{}),
		v("GetClosestVolumeIDFromTargetPath", &volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: insidePath}, &volume.GetClosestVolumeIDFromTargetPathResponse{}),
		{"iscsi", "Iscsi", "v1alpha2", "ListTargetPortals", &iscsi.ListTargetPortalsRequest{}, &iscsi.ListTargetPortalsResponse{}, false},
		s("GetBIOSSerialNumber", &system.GetBIOSSerialNumberRequest{}, &system.GetBIOSSerialNumberResponse{}),
		s("GetService", &system.GetServiceRequest{Name: "MSiSCSI"}, &system.GetServiceResponse{}),
	}
}

func (r read) key() string { return r.group + " " + r.method }

func (r read) subject(t *target) subject {
	return subject{
		name: r.hub, socket: t.socket(r.group, r.hub), path: "/" + r.hub + "." + r.service + "/" + r.method,
		request: r.request, response: r.response.ProtoReflect().Type(),
	}
}

// A route is an old version's way to a read.
type route struct {
	subject
	version, method string
	kind            versions.Kind
}

// routes are the old versions' ways to a read, with the messages that they have there.
func (r read) routes(t *target) ([]route, error) {
	var found []route
	for _, g := range versions.Groups() {
		if g.Name != r.group {
			continue
		}
		for _, version := range g.Versions() {
			for _, row := range g.Of(version) {
				if row.Hub != r.method || !t.served[endpointName(r.group, version)] {
					continue
				}
				s := r.subject(t)
				if row.Mapping != nil {
					if err := down(row.Mapping, &s); err != nil {
						return nil, fmt.Errorf("%s %s %s: %w", r.group, version, row.Method, err)
					}
				}
				s.name, s.socket, s.path = version, t.socket(r.group, version), "/"+g.ServiceName(version)+"/"+row.Method
				found = append(found, route{s, version, row.Method, row.Kind})
			}
		}
	}
	return append(found, r.alone(t)...), nil
}

// down makes the messages of a hub's subject those of an old version.
func down(m *versions.Mapping, s *subject) error {
	made := errors.New("the messages are made")
	err := m.Call(s.request, s.response.New().Interface(), func(request, response any) error {
		old, ok := request.(proto.Message)
		answer, also := response.(proto.Message)
		if !ok || !also {
			return errors.New("a mapping of something else than messages")
		}
		s.request, s.response = old, answer.ProtoReflect().Type()
		return made
	})
	if errors.Is(err, made) {
		return nil
	}
	return err
}

// alone is the one read of an old version that no hub has. It looks at all disks' names as ListDiskIDs does.
func (r read) alone(t *target) []route {
	const version, method = "v1alpha1", "GetDiskNumberByName"
	if r.key() != "disk ListDiskIDs" || !t.served[endpointName(r.group, version)] {
		return nil
	}
	return []route{{
		subject: subject{
			name: version, socket: t.socket(r.group, version), path: "/" + version + ".Disk/" + method,
			request:  &oldestdisk.GetDiskNumberByNameRequest{DiskName: t.page83},
			response: (&oldestdisk.GetDiskNumberByNameResponse{}).ProtoReflect().Type(),
		},
		version: version, method: method, kind: versions.Alone,
	}}
}
