// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"reflect"
	"slices"
	"testing"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// An api is one version of one group with its client.
type api struct {
	group, version string
	client         closer
	methods        []*method
}

// methodOf returns the method for an operation, nil when the version has none.
func (a *api) methodOf(operation string) *method {
	i := slices.IndexFunc(a.methods, func(m *method) bool { return m.operation == operation })
	if i < 0 {
		return nil
	}
	return a.methods[i]
}

// open opens the client of one version and finds the methods that were released.
func open(t testing.TB, n site, group, version string) *api {
	t.Helper()
	newClient := clients()[group+" "+version]
	if newClient == nil {
		t.Fatalf("the agent serves %s %s, of which these tests have no client: add it to clients", group, version)
	}
	c, err := newClient(n.endpoint(group, version))
	caller.OK(t, err)
	t.Cleanup(func() { _ = c.Close() })
	a := &api{group: group, version: version, client: c}
	names := []string{"Close"}
	descriptors := caller.Service(t, group, version).Methods()
	for i := range descriptors.Len() {
		a.methods = append(a.methods, newMethod(t, a, descriptors.Get(i)))
		names = append(names, a.methods[i].name)
	}
	for i := range reflect.TypeOf(c).NumMethod() {
		if name := reflect.TypeOf(c).Method(i).Name; !slices.Contains(names, name) {
			t.Errorf("the client of %s %s has the method %s, which was never released", group, version, name)
		}
	}
	return a
}

// A served is a version that the agent lists.
type served struct{ group, version string }

// listed returns the versions that the agent serves, in its order.
func listed(t testing.TB, n site) []served {
	t.Helper()
	reply, err := n.admin(t).ListAPIs(t.Context(), &admin.ListAPIsRequest{})
	caller.OK(t, err)
	var all []served
	for _, a := range reply.GetApis() {
		all = append(all, served{a.GetGroup(), a.GetVersion()})
	}
	return all
}

// closest returns the version of a group that came with another group's version: the newest one that is not newer, or
// else the oldest.
func closest(all []served, group, version string) string {
	at := apiversion.NewVersionOrPanic(version)
	var versions []string
	for _, s := range all {
		if s.group == group {
			versions = append(versions, s.version)
		}
	}
	slices.SortFunc(versions, func(a, b string) int {
		return int(apiversion.NewVersionOrPanic(a).Compare(apiversion.NewVersionOrPanic(b)))
	})
	found := versions[0]
	for _, v := range versions {
		if apiversion.NewVersionOrPanic(v).Compare(at) <= 0 {
			found = v
		}
	}
	return found
}
