// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"slices"
	"strings"
)

// Kind is the relation of a method of an old version to the hub's.
type Kind string

// The kinds. A method of the hub itself has no route.
const (
	// Same: request and response have the same bytes on the wire as the hub's, though names may differ.
	Same Kind = "same bytes"
	// Extra: the same, except for fields that one side lacks and the other leaves empty or does not read.
	Extra Kind = "extra fields"
	// Mapped: the messages differ; Mapping converts them.
	Mapped Kind = "mapped"
	// Alone: the hub has no such method; a server of the old version serves it directly.
	Alone Kind = "alone"
)

// Route maps a method of one or more old versions to the hub's.
type Route struct {
	In      string // the versions, blank-separated: "v1alpha1 v1beta1"
	Method  string // its name there
	Kind    Kind
	Hub     string   // the hub's method; "" when alone
	Mapping *Mapping // only when mapped
}

// Group is one API group.
type Group struct {
	Name    string // "disk"
	Service string // the service's name without its proto package: "Disk"
	Hub     string // "v1"
	Routes  []Route
}

// Groups returns the tables of all groups.
func Groups() []Group {
	return []Group{disk(), filesystem(), iscsi(), nodesteps(), smb(), system(), volume()}
}

// Versions returns the group's versions other than the hub, oldest first.
func (g Group) Versions() []string {
	var versions []string
	for _, r := range g.Routes {
		for _, v := range strings.Fields(r.In) {
			if !slices.Contains(versions, v) {
				versions = append(versions, v)
			}
		}
	}
	slices.SortFunc(versions, compare)
	return versions
}

// Of returns the routes of one version.
func (g Group) Of(version string) []Route {
	var routes []Route
	for _, r := range g.Routes {
		if slices.Contains(strings.Fields(r.In), version) {
			routes = append(routes, r)
		}
	}
	return routes
}

// ServiceName returns the full name of the group's service in a version: "v1beta1.Disk".
func (g Group) ServiceName(version string) string { return version + "." + g.Service }
