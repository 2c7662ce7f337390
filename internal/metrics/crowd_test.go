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
)

// Half requests are kept up to a number, and push out one another, not a probe that comes among them.
func TestHalfRequests(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := New(Watched{
		Node:      func() *node.Node { return nil },
		Endpoints: func() []Endpoint { return []Endpoint{{"a", true}} },
		Failed:    func() error { return nil },
	}, klog.Background())
	t.Cleanup(m.Serve(l))
	const opened = 1000
	conns := make([]net.Conn, opened)
	for i := range conns {
		if conns[i], err = net.Dial("tcp", l.Addr().String()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conns[i].Close() })
		_, _ = conns[i].Write([]byte("GET /metrics HTTP/1.1\r\nHost: half"))
		if i%100 == 0 {
			probe(t, l.Addr())
		}
	}
	probe(t, l.Addr()) // afterwards the server has accepted all of them
	for i, c := range conns[:opened-maxConnections] {
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := c.Read(make([]byte, 1)); os.IsTimeout(err) {
			t.Fatalf("connection %d of %d is still open", i, opened)
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
