// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"strings"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
)

// Path is a method's path on the wire, taken apart.
type Path struct{ Group, Version, Method string }

// ParsePath takes apart a path such as "/v1.Disk/Rescan", in any case; the method is as written. It reports false for
// one that is not of the API, such as one of the admin endpoint. Other code asks here what a path means.
func ParsePath(path string) (Path, bool) {
	service, method, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	dot := strings.LastIndexByte(service, '.')
	if dot < 0 || method == "" || strings.Contains(method, "/") {
		return Path{}, false
	}
	g, ok := byService()[strings.ToLower(service[dot+1:])]
	version, inPackage := strings.CutPrefix(strings.ToLower(service[:dot]), g.packagePrefix())
	return Path{g.Name, version, method}, ok && inPackage && apiversion.IsValidVersion(version)
}

// Package returns the proto package of the group in a version: "v1beta1", or "csiproxy.nodesteps.v1alpha1". The
// original's groups share the bare version, which is part of every path and cannot change.
func (g Group) Package(version string) string { return g.packagePrefix() + version }

// ServiceName returns the full name of the group's service in a version: "v1beta1.Disk".
func (g Group) ServiceName(version string) string { return g.Package(version) + "." + g.Service }

func (g Group) packagePrefix() string {
	if g.Own {
		return "csiproxy." + g.Name + "."
	}
	return ""
}

var byService = sync.OnceValue(func() map[string]Group {
	groups := map[string]Group{}
	for _, g := range Groups() {
		groups[strings.ToLower(g.Service)] = g
	}
	return groups
})
