// SPDX-License-Identifier: Apache-2.0

package dial_test

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	winio "github.com/Microsoft/go-winio"
)

// listen makes the endpoint of a pipe name.
func listen(t *testing.T, name string) net.Listener {
	t.Helper()
	path := `\\.\pipe\` + name
	listener, err := winio.ListenPipe(path, nil)
	// The name of a stopped agent stays taken until the last end of its pipe is closed.
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	for ; errors.Is(err, syscall.ERROR_ACCESS_DENIED) && ctx.Err() == nil; listener, err = winio.ListenPipe(path, nil) {
		<-time.After(time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	if onWine() {
		// The listener's first instance is not for clients: Windows lets none connect to it, but Wine does.
		occupied, err := winio.DialPipe(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = occupied.Close() })
	}
	return listener
}

// onWine reports whether the test runs on Wine, which has a function that Windows lacks.
func onWine() bool {
	return syscall.NewLazyDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}

// useSockets does nothing where pipes are real.
func useSockets(*testing.T) {}
