// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"strings"
	"testing"
)

// mustSay checks that an error has all of the parts in its text.
func mustSay(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one that says %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got the error %q, want %q in it", err, part)
		}
	}
}
