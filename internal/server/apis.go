// SPDX-License-Identifier: Apache-2.0

package server

import (
	_ "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1" // reflection describes it; its bytes are the hub's
	_ "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"     // the same
	"github.com/kubernetes-csi/csi-proxy/node"
)

// APIs returns the endpoint of every API group and version that the agent has, those of v1 first: a driver that finds
// no v1 when it starts falls back to a beta version for as long as it lives.
func APIs(n *node.Node) []Endpoint {
	disks, files, volumes := diskMethods(n.Disks), filesystemMethods(n.Filesystem), volumeMethods(n.Volumes)
	return []Endpoint{
		endpoint("disk", "v1", Service{"v1.Disk", disks}),
		endpoint("filesystem", "v1", Service{"v1.Filesystem", only(files,
			"PathExists", "Mkdir", "Rmdir", "CreateSymlink", "IsSymlink")}),
		endpoint("volume", "v1", Service{"v1.Volume", only(volumes,
			"ListVolumesOnDisk", "MountVolume", "UnmountVolume", "IsVolumeFormatted", "FormatVolume", "ResizeVolume",
			"GetVolumeStats", "GetDiskNumberFromVolumeID", "GetVolumeIDFromTargetPath", "WriteVolumeCache")}),
		endpoint("filesystem", "v2alpha1", Service{"v2alpha1.Filesystem", files}),
		endpoint("volume", "v2alpha1", Service{"v2alpha1.Volume", volumes}),
	}
}

func endpoint(group, version string, service Service) Endpoint {
	return Endpoint{Name: "csi-proxy-" + group + "-" + version, Group: group, Version: version, Services: []Service{service}}
}
