// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server_test

import (
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
)

func openDir(t *testing.T, path string) *transport.SocketDir {
	t.Helper()
	d, err := transport.OpenSocketDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// mustSay checks that an error's text has all of the parts.
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
