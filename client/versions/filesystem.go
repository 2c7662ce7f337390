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

// inBand makes an error of the failure that an agent before v1.0 reports in the response.
func (c *conversion) inBand(text string) {
	if text != "" {
		c.fail(errors.New(text))
	}
}

func pathExists() *Mapping {
	return between(
		func(o *old.PathExistsRequest, h *hub.PathExistsRequest, c *conversion) { field(c, &o.Path, &h.Path) },
		func(o *old.PathExistsResponse, h *hub.PathExistsResponse, c *conversion) {
			field(c, &o.Exists, &h.Exists)
			c.inBand(o.GetError())
		})
}

func rmdir() *Mapping {
	return between(
		func(o *old.RmdirRequest, h *hub.RmdirRequest, c *conversion) {
			field(c, &o.Path, &h.Path)
			field(c, &o.Force, &h.Force)
		},
		func(o *old.RmdirResponse, _ *hub.RmdirResponse, c *conversion) { c.inBand(o.GetError()) })
}

func isMountPoint() *Mapping {
	return between(
		func(o *old.IsMountPointRequest, h *hub.IsSymlinkRequest, c *conversion) { field(c, &o.Path, &h.Path) },
		func(o *old.IsMountPointResponse, h *hub.IsSymlinkResponse, c *conversion) {
			field(c, &o.IsMountPoint, &h.IsSymlink)
			c.inBand(o.GetError())
		})
}
