// SPDX-License-Identifier: Apache-2.0

package webserver

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A client that takes nothing of its answer for ten seconds loses its connection. One that begins earlier gets it.
func TestAnswerThatIsNotTaken(t *testing.T) {
	body := bytes.Repeat([]byte("x"), 1<<20)
	handlers := map[string]http.HandlerFunc{
		"kept":  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) },
		"later": func(w http.ResponseWriter, _ *http.Request) { SendLater(w, bytes.NewReader(body)) },
	}
	for name, handler := range handlers {
		for wait, whole := range map[time.Duration]bool{9 * time.Second: true, 11 * time.Second: false} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := &pipes{accept: make(chan net.Conn), closed: make(chan struct{})}
					defer Serve(l, handler)()
					client, server := net.Pipe()
					defer func() { _ = client.Close() }()
					l.accept <- server
					_, _ = io.WriteString(client, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
					time.Sleep(wait)
					if n, _ := io.Copy(io.Discard, client); (n > int64(len(body))) != whole {
						t.Errorf("taken after %v: got %d bytes, want all %t", wait, n, whole)
					}
				})
			})
		}
	}
}

// pipes is a listener of pipes in memory, whose deadlines go by the test's clock.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (*pipes) Addr() net.Addr { return &net.UnixAddr{} }
