// SPDX-License-Identifier: Apache-2.0

// Package versions maps the methods of all API versions to each other. Each group has one hub version, whose methods
// are implemented; another version's method leads to one of those. Most have the same bytes and need no conversion; the
// others have a mapping, from old to hub for the agent, from hub to old for a client of an old agent.
//
// # Adding a version
//
// Write client/api/GROUP/VERSION/api.proto: one service, named as in the group's other versions, with unary methods.
// The proto package is the bare version, because it is in every method's path on the wire. The newest version's
// comments become the reference: say what a repeated call does, and which codes a driver must expect. A field that
// means the same as in the hub gets the hub's number and type. A number of the hub never gets another meaning; a test
// refuses it.
//
// Run `make generate` for stubs, clients and reference, and `make image` for the descriptors that reflection serves and
// that buf breaking compares with; again for each change before the version's first release.
//
// Give each method a row in the group's table, of one [Kind]. A mapping, made by between, serves every version with the
// same bytes and names. A request that the hub cannot hold is an [ArgumentError], one that the version cannot express
// an [UnsupportedError]. A method of the kind Alone also needs a row `only("v9", …)` in the group's table in
// internal/agent/node, and its operation. The agent makes an endpoint for every version in the tables.
//
// Record it. The test of client/api prints the entry for testdata/contract.json; raise counts there. `go test
// ./hack/conventions -update` writes exported.txt, `go test ./versions -update` in client the listing. Two fields that
// mean the same under two names go into renamed in shape_test.go.
//
// # A new hub, a new group
//
// A version whose methods do more than the hub's becomes the hub: Hub changes, the old hub's methods get rows, and
// every row leads to the new one's. The operations in internal/agent/node and client/csiproxy/client.go take its
// messages.
//
// A new group needs a table here, listed in [Groups], and one in internal/agent/node, listed in tables; a field of
// csiproxy.Client, and a place in the chart's values.schema.json. Our own groups' names begin with node, and their
// record is client/api/testdata/own.json.
package versions

import (
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
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

// same returns the routes of methods that have the hub's names and bytes; the methods are blank-separated, too.
func same(in, methods string) (routes []Route) {
	for method := range strings.FieldsSeq(methods) {
		routes = append(routes, Route{in, method, Same, method, nil})
	}
	return routes
}

// Group is one API group.
type Group struct {
	Name    string // "disk"
	Service string // the service's name without its proto package: "Disk"
	Hub     string // "v1"
	Own     bool   // the original has no such group
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

// compare orders version names of our own tables, oldest first.
func compare(a, b string) int {
	return int(apiversion.NewVersionOrPanic(a).Compare(apiversion.NewVersionOrPanic(b)))
}
