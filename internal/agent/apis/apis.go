// SPDX-License-Identifier: Apache-2.0

// Package apis holds the tables of the API: an endpoint for each version of each group, whose methods lead to the
// node's operations. The methods of an old version lead to those of its group's hub, by the tables of client/versions.
package apis

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// All returns the endpoints of all API groups and versions, v1 first: a driver that finds no v1 when it starts falls
// back to a beta version for as long as it lives.
func All(n *node.Node) []server.Endpoint {
	var endpoints []server.Endpoint
	for _, g := range versions.Groups() {
		var all, hub []server.Method
		for _, m := range node.Methods() {
			if m.Group != g.Name {
				continue
			}
			all = append(all, method(n, m))
			if m.OnlyIn == "" {
				hub = append(hub, method(n, m))
			}
		}
		endpoints = append(endpoints, endpoint(g, g.Hub, hub))
		for _, version := range g.Versions() {
			endpoints = append(endpoints, endpoint(g, version, routed(g.Of(version), all)))
		}
	}
	slices.SortFunc(endpoints, inOrder)
	return endpoints
}

// method returns a method as the server has it, which uses the node as the client of each call may.
func method(n *node.Node, m node.Method) server.Method {
	return server.NewMethod(m.Name, m.Limit, m.NewRequest,
		func(ctx context.Context, request proto.Message) (proto.Message, error) {
			return m.Call(ctx, n.For(server.ScopeOf(ctx)), request)
		})
}

// inOrder compares endpoints for the order in which they are opened and listed: v1 first, then by group and version.
func inOrder(a, b server.Endpoint) int {
	later := func(e server.Endpoint) int {
		if e.Version == "v1" {
			return 0
		}
		return 1
	}
	order := apiversion.NewVersionOrPanic(a.Version).Compare(apiversion.NewVersionOrPanic(b.Version))
	return cmp.Or(later(a)-later(b), strings.Compare(a.Group, b.Group), int(order))
}

func endpoint(g versions.Group, version string, methods []server.Method) server.Endpoint {
	return server.Endpoint{
		Name: "csi-proxy-" + g.Name + "-" + version, Group: g.Name, Version: version,
		Services: []server.Service{{Name: g.ServiceName(version), Methods: methods}},
	}
}

// routed returns the methods of an old version, which lead to those of its hub, or which it alone has. It panics if one
// of them is missing.
func routed(routes []versions.Route, all []server.Method) []server.Method {
	methods := make([]server.Method, 0, len(routes))
	for _, r := range routes {
		m := all[slices.IndexFunc(all, func(m server.Method) bool { return m.Name == cmp.Or(r.Hub, r.Method) })]
		if r.Mapping != nil {
			m = m.Through(r.Mapping)
		}
		m.Name = r.Method
		methods = append(methods, m)
	}
	return methods
}

// A Selection is the API groups and versions that are served. The zero value selects all of them.
type Selection struct {
	versions map[string][]string // by group; an empty list: off
}

// Set sets the versions of one group, "disk=v1,v1beta3" or "iscsi=off". It fails for a group or version that the agent
// does not have and for a group that was set before.
func (s *Selection) Set(text string) error {
	group, list, ok := strings.Cut(text, "=")
	if !ok || group == "" || list == "" {
		return fmt.Errorf("%q is not of the form group=off or group=version,version", text)
	}
	known := known()
	if known[group] == nil {
		return fmt.Errorf("there is no API group %q; the groups are %s", group,
			strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	if _, again := s.versions[group]; again {
		return fmt.Errorf("the API group %q is set twice", group)
	}
	versions := []string{}
	if list != "off" {
		for version := range strings.SplitSeq(list, ",") {
			if !slices.Contains(known[group], version) {
				return fmt.Errorf("there is no version %q of the API group %q; its versions are %s", version, group,
					strings.Join(known[group], ", "))
			}
			versions = append(versions, version)
		}
	}
	if s.versions == nil {
		s.versions = map[string][]string{}
	}
	s.versions[group] = versions
	return nil
}

// Apply returns the selected endpoints, in their order.
func (s *Selection) Apply(endpoints []server.Endpoint) []server.Endpoint {
	if s == nil {
		return endpoints
	}
	return slices.DeleteFunc(slices.Clone(endpoints), func(e server.Endpoint) bool {
		versions, chosen := s.versions[e.Group]
		return chosen && !slices.Contains(versions, e.Version)
	})
}

// known returns the versions of each group, in the order of All.
func known() map[string][]string {
	groups := map[string][]string{}
	for _, e := range All(&node.Node{}) {
		groups[e.Group] = append(groups[e.Group], e.Version)
	}
	return groups
}

// Empty reports whether the selection leaves nothing to serve.
func (s *Selection) Empty() bool { return len(s.Apply(All(&node.Node{}))) == 0 }
