// SPDX-License-Identifier: Apache-2.0

package apis

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// All returns the endpoints of all API groups and versions, v1 first: a driver that finds no v1 when it starts falls
// back to a beta version for as long as it lives.
func All(n *node.Node) []server.Endpoint {
	hubs := map[string][]server.Method{
		"disk":       diskMethods(n.Disks),
		"filesystem": filesystemMethods(n.Filesystem),
		"iscsi":      iscsiMethods(n.ISCSI),
		"system":     systemMethods(n.System),
		"smb":        smbMethods(n.SMB),
		"volume":     volumeMethods(n.Volumes),
	}
	alone := map[string]server.Method{"GetDiskNumberByName": getDiskNumberByName(n.Disks)}
	var endpoints []server.Endpoint
	for _, g := range versions.Groups() {
		hub, served := hubs[g.Name]
		if !served {
			continue
		}
		endpoints = append(endpoints, endpoint(g, g.Hub, hub))
		for _, version := range g.Versions() {
			endpoints = append(endpoints, endpoint(g, version, routed(g.Of(version), hub, alone)))
		}
	}
	endpoints = append(endpoints, nodestepsEndpoint(n, endpoints))
	sort.Slice(endpoints, func(i, j int) bool { return inOrder(endpoints[i], endpoints[j]) < 0 })
	return endpoints
}

// inOrder compares endpoints for the order in which they are opened and listed: v1 first, then by group and version.
func inOrder(a, b server.Endpoint) int {
	switch v1 := "v1"; {
	case a.Version == v1 && b.Version != v1:
		return -1
	case b.Version == v1 && a.Version != v1:
		return 1
	}
	order := apiversion.NewVersionOrPanic(a.Version).Compare(apiversion.NewVersionOrPanic(b.Version))
	return cmp.Or(strings.Compare(a.Group, b.Group), int(order))
}

func endpoint(g versions.Group, version string, methods []server.Method) server.Endpoint {
	return server.Endpoint{
		Name: "csi-proxy-" + g.Name + "-" + version, Group: g.Name, Version: version,
		Services: []server.Service{{Name: g.ServiceName(version), Methods: methods}},
	}
}

// routed returns the methods of an old version, which lead to those of its hub. It panics when the table names a method
// that the hub does not have.
func routed(routes []versions.Route, hub []server.Method, alone map[string]server.Method) []server.Method {
	methods := make([]server.Method, 0, len(routes))
	for _, r := range routes {
		if r.Kind == versions.Alone {
			methods = append(methods, alone[r.Method])
			continue
		}
		i := slices.IndexFunc(hub, func(m server.Method) bool { return m.Name == r.Hub })
		m := hub[i]
		if r.Mapping != nil {
			m = m.Through(r.Mapping)
		}
		m.Name = r.Method
		methods = append(methods, m)
	}
	return methods
}
