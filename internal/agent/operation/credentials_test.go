// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
)

// Calls with different credentials are different calls.
func TestCredentialKeys(t *testing.T) {
	r := NewRunner(Config{})
	seen := map[string]bool{}
	for _, c := range [][2]string{{"a", "b"}, {"a", "c"}, {"b", "b"}, {"ab", ""}, {"", "ab"}, {"a:", "b"}, {"a", ":b"}} {
		seen[r.CredentialKey(c[0], kernel.Secret(c[1]))] = true
	}
	again := r.CredentialKey("a", kernel.Secret("b"))
	if len(seen) != 7 || !seen[again] || seen[NewRunner(Config{}).CredentialKey("a", kernel.Secret("b"))] {
		t.Error("credentials are mixed up, or have the same key in every process")
	}
}
