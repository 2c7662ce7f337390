// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
)

// However deep an object lies, its path has a beginning and an end, and is short.
func TestObjectIn(t *testing.T) {
	if got, want := kernel.ObjectIn(`\\?\C:\a`, "b"), `\\?\C:\a\b`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	path := `\\?\C:\var\lib`
	for range 1000 {
		path = kernel.ObjectIn(path, strings.Repeat("tief€", 30))
		if len(path) > 1024 || !utf8.ValidString(path) {
			t.Fatalf("%d bytes: %q", len(path), path)
		}
	}
	if !strings.HasPrefix(path, `\\?\C:\var\lib\tief€`) || !strings.HasSuffix(path, "tief€") ||
		strings.Count(path, "…") != 1 {
		t.Errorf("got %s", path)
	}
}
