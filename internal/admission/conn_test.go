// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"net"
	"sync"
	"testing"

	"k8s.io/klog/v2"
)

// pipeListener accepts the ends that it is given.
type pipeListener struct {
	ends   chan net.Conn
	closed chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.ends:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { close(l.closed); return nil }
func (l *pipeListener) Addr() net.Addr { return nil }

// TestAClientThatComesWhileTheServerStops: it is served or dropped, and forgotten when it is gone.
func TestAClientThatComesWhileTheServerStops(t *testing.T) {
	for range 20_000 {
		cs := New(Limits{}, klog.Background(), nil)
		inner := &pipeListener{ends: make(chan net.Conn, 1), closed: make(chan struct{})}
		l := cs.Listen(inner)
		ours, theirs := net.Pipe()
		inner.ends <- ours
		var both sync.WaitGroup
		both.Go(func() {
			if c, err := l.Accept(); err == nil {
				_ = c.Close()
			}
		})
		both.Go(func() {
			cs.Close()
			_ = l.Close()
		})
		both.Wait()
		_ = theirs.Close()
		if len(cs.conns) != 0 {
			t.Fatalf("%d connections are registered, and none is open", len(cs.conns))
		}
	}
}
