// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"slices"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// TestReleased counts the methods of the whole API, asserts that a group is served in all of its versions or in none,
// and lists the methods that are not served.
func TestReleased(t *testing.T) {
	all := listed(t, emulatedSite(t))
	methods, missing := 0, 0
	for _, api := range testnode.Released(t) {
		count := api.Service.Methods().Len()
		methods += count
		if slices.Contains(all, served{api.Group, api.Version}) {
			continue
		}
		missing += count
		t.Logf("%s %s is not served: %d methods", api.Group, api.Version, count)
		if slices.ContainsFunc(all, func(other served) bool { return other.group == api.Group }) {
			t.Errorf("%s is served, but not in version %s", api.Group, api.Version)
		}
	}
	if methods == 0 {
		t.Error("no method is released")
	}
	t.Logf("%d of %d released methods are served", methods-missing, methods)
}
