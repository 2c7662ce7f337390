// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"
)

// A client that is accepted when the server has begun to stop is disconnected: the server would wait for its first bytes.
func TestAClientThatComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cs := New(Limits{}, klog.Background(), nil)
		inner := &pipeListener{ends: make(chan net.Conn, 1), closed: make(chan struct{})}
		l := cs.Listen(inner)
		cs.Close()
		ours, theirs := net.Pipe()
		inner.ends <- ours
		accepted := make(chan error, 1)
		go func() {
			_, err := l.Accept()
			accepted <- err
		}()
		_ = theirs.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := theirs.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("it is not disconnected: %v", err)
		}
		_ = l.Close()
		if err := <-accepted; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept: %v, want %v", err, net.ErrClosed)
		}
	})
}
