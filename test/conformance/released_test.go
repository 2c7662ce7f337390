// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"slices"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// TestReleased: every version that was released is served.
func TestReleased(t *testing.T) {
	all := listed(t, emulatedSite(t))
	for _, api := range testnode.Released(t) {
		if !slices.Contains(all, served{api.Group, api.Version}) {
			t.Errorf("%s %s is not served", api.Group, api.Version)
		}
	}
}
