// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/webserver"
)

// Half requests are kept up to a number, and push out one another, not a probe that comes among them.
func TestHalfRequests(t *testing.T) {
	address := serve(t)
	const opened = 1000
	conns := make([]net.Conn, opened)
	for i := range conns {
		var err error
		if conns[i], err = net.Dial("tcp", address.String()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conns[i].Close() })
		_, _ = conns[i].Write([]byte("GET /metrics HTTP/1.1\r\nHost: half"))
		if i%100 == 0 {
			probe(t, address)
		}
	}
	probe(t, address) // afterwards the server has accepted all of them
	for i, c := range conns[:opened-webserver.MaxConnections] {
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := c.Read(make([]byte, 1)); os.IsTimeout(err) {
			t.Fatalf("connection %d of %d is still open", i, opened)
		}
	}
}

// serve serves the metrics of an agent without a node.
func serve(t *testing.T) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := New(Watched{
		Node:      func() *node.Node { return nil },
		Endpoints: func() []Endpoint { return []Endpoint{{"a", true}} },
		Failed:    func() error { return nil },
	}, false, klog.Background())
	t.Cleanup(m.Serve(l))
	return l.Addr()
}

// Connections that were answered and are kept open are no more than the others.
func TestIdleConnections(t *testing.T) {
	address := serve(t)
	const opened = webserver.MaxConnections + 50
	var conns []net.Conn
	for range opened {
		c, err := net.Dial("tcp", address.String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_, _ = c.Write([]byte("GET /healthz HTTP/1.1\r\nHost: idle\r\n\r\n"))
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	for i, c := range conns[:opened-webserver.MaxConnections] {
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Fatalf("connection %d of %d is still open: %v", i, opened, err)
		}
	}
}

func probe(t *testing.T, address net.Addr) {
	t.Helper()
	response, err := http.Get("http://" + address.String() + "/healthz")
	if err != nil {
		t.Fatalf("a probe among half requests: %v", err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
}
