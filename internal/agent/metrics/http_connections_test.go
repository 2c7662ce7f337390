// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
)

// Half requests are kept up to a number, and push out one another, not a probe that comes among them.
func TestHalfRequests(t *testing.T) {
	address := serve(t)
	const opened = 1000
	conns := make([]net.Conn, opened)
	for i := range conns {
		conns[i] = send(t, address, "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1")
		if i%100 == 0 {
			probe(t, address)
		}
	}
	probe(t, address) // afterwards the server has accepted all of them
	for i, c := range conns[:opened-maxConnections] {
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := c.Read(make([]byte, 1)); os.IsTimeout(err) {
			t.Fatalf("connection %d of %d is still open", i, opened)
		}
	}
}

// send opens a connection and sends the beginning of a request.
func send(t *testing.T, address net.Addr, request string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_, _ = c.Write([]byte(request))
	return c
}

// serve serves the metrics of an agent without a node.
func serve(t *testing.T) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	endpoints := make([]Endpoint, 2000) // an answer larger than what the system keeps
	for i := range endpoints {
		endpoints[i] = Endpoint{strings.Repeat("x", 200) + strconv.Itoa(i), true}
	}
	m := New(Watched{
		Node:      func() *node.Node { return nil },
		Endpoints: func() []Endpoint { return endpoints },
		Failed:    func() error { return nil },
	}, false, klog.Background())
	t.Cleanup(m.Serve(shortBuffers{l}))
	return l.Addr()
}

// Connections that were answered and are kept open are no more than the others.
func TestIdleConnections(t *testing.T) {
	address := serve(t)
	const opened = maxConnections + 50
	var conns []net.Conn
	for range opened {
		c := send(t, address, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	for i, c := range conns[:opened-maxConnections] {
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Fatalf("connection %d of %d is still open: %v", i, opened, err)
		}
	}
}

// Clients that do not read what they asked for keep neither a probe nor other scrapers out, and keep no text each.
func TestUnreadAnswers(t *testing.T) {
	address := serve(t)
	get := func() (n int64) {
		response, err := http.Get("http://" + address.String() + "/metrics")
		if err != nil {
			t.Error(err)
			return 0
		}
		defer func() { _ = response.Body.Close() }()
		n, err = io.Copy(io.Discard, response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("another scraper: got %s, %v", response.Status, err)
		}
		return n
	}
	text, before := get(), inUse()
	for i := range maxConnections + 50 {
		unread(t, address)
		if i%50 == 0 {
			probe(t, address)
		}
	}
	probe(t, address)
	if kept := inUse() - before; kept > text*maxConnections/2 {
		t.Errorf("%d clients that read nothing of %d bytes keep %d", maxConnections, text, kept)
	}
	for range 10 {
		var scrapers sync.WaitGroup
		for range 5 {
			scrapers.Go(func() { get() })
		}
		scrapers.Wait()
	}
}

// inUse returns the bytes of the heap that are in use.
func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// unread leaves a connection whose answer has begun to come, and does not fit into what the system keeps.
func unread(t *testing.T, address net.Addr) {
	t.Helper()
	c := send(t, address, "")
	_ = c.(*net.TCPConn).SetReadBuffer(1) //nolint:forcetypeassert // of the network tcp
	_, _ = c.Write([]byte("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"))
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

// shortBuffers makes the system keep little of what was not sent yet.
type shortBuffers struct{ net.Listener }

func (l shortBuffers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetWriteBuffer(1) //nolint:forcetypeassert // of the network tcp
	}
	return c, err
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
