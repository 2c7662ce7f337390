// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"errors"

	old "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1beta1"
	hub "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
)

// filesystem is the filesystem group. v1alpha1 and v1beta1 have the same messages. Their path contexts no longer have a
// meaning and are dropped; their error field stays empty, because failures travel as status.
//
// Rmdir is mapped although most of its bytes fit: drivers send the old context, with the number of the hub's force.
func filesystem() Group {
	const contexts = "v1alpha1 v1beta1"
	return Group{Name: "filesystem", Service: "Filesystem", Hub: "v2alpha1", Routes: append([]Route{
		{contexts, "PathExists", Mapped, "PathExists", pathExists()},
		{contexts, "Mkdir", Extra, "Mkdir", nil},
		{contexts, "Rmdir", Mapped, "Rmdir", rmdir()},
		{contexts, "LinkPath", Extra, "CreateSymlink", nil},
		{contexts, "IsMountPoint", Mapped, "IsSymlink", isMountPoint()},
	}, same("v1beta2 v1", "PathExists Mkdir Rmdir CreateSymlink IsSymlink")...)}
}

// inBand returns the failure that an agent before v1.0 reports in the response.
func inBand(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}

func pathExists() *Mapping {
	return between(
		func(o *old.PathExistsRequest, h *hub.PathExistsRequest) error { h.Path = o.GetPath(); return nil },
		func(h *hub.PathExistsResponse, o *old.PathExistsResponse) { o.Exists = h.GetExists() },
		func(h *hub.PathExistsRequest, o *old.PathExistsRequest) error { o.Path = h.GetPath(); return nil },
		func(o *old.PathExistsResponse, h *hub.PathExistsResponse) error {
			h.Exists = o.GetExists()
			return inBand(o.GetError())
		})
}

func rmdir() *Mapping {
	return between(
		func(o *old.RmdirRequest, h *hub.RmdirRequest) error {
			h.Path, h.Force = o.GetPath(), o.GetForce()
			return nil
		},
		func(*hub.RmdirResponse, *old.RmdirResponse) {},
		func(h *hub.RmdirRequest, o *old.RmdirRequest) error {
			o.Path, o.Force = h.GetPath(), h.GetForce()
			return nil
		},
		func(o *old.RmdirResponse, _ *hub.RmdirResponse) error { return inBand(o.GetError()) })
}

func isMountPoint() *Mapping {
	return between(
		func(o *old.IsMountPointRequest, h *hub.IsSymlinkRequest) error { h.Path = o.GetPath(); return nil },
		func(h *hub.IsSymlinkResponse, o *old.IsMountPointResponse) { o.IsMountPoint = h.GetIsSymlink() },
		func(h *hub.IsSymlinkRequest, o *old.IsMountPointRequest) error { o.Path = h.GetPath(); return nil },
		func(o *old.IsMountPointResponse, h *hub.IsSymlinkResponse) error {
			h.IsSymlink = o.GetIsMountPoint()
			return inBand(o.GetError())
		})
}
