// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package dial_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/dial"
)

// listen makes the endpoint of a pipe name, after useSockets.
func listen(t *testing.T, name string) net.Listener {
	t.Helper()
	listener, err := net.Listen("unix", filepath.Join(os.Getenv(dial.SocketDirVariable), name+".sock"))
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// useSockets makes a socket directory for the test. Its path is short because the system limits the length of a
// socket's path, and test names can be long.
func useSockets(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "dial") //nolint:usetesting // t.TempDir is named after the test, too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv(dial.SocketDirVariable, dir)
}
