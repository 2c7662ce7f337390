// SPDX-License-Identifier: Apache-2.0

package dial_test

import (
	"net"
	"testing"

	winio "github.com/Microsoft/go-winio"
)

// listen makes the endpoint of a pipe name.
func listen(t *testing.T, name string) net.Listener {
	t.Helper()
	listener, err := winio.ListenPipe(`\\.\pipe\`+name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// useSockets does nothing where pipes are real.
func useSockets(*testing.T) {}
