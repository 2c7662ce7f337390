// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
)

// subject is an agent whose state the test sets.
type subject struct {
	mu        sync.Mutex
	node      *node.Node
	endpoints []Endpoint
	failed    error
	log       []string
}

func (s *subject) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// serve serves the health of the subject, and returns a function that gets a path.
func (s *subject) serve(t *testing.T) func(path string) (code int, text string) {
	t.Helper()
	logger := funcr.New(func(_, line string) { s.set(func() { s.log = append(s.log, line) }) }, funcr.Options{})
	m := New(Watched{
		Node:      func() (n *node.Node) { s.set(func() { n = s.node }); return n },
		Endpoints: func() (e []Endpoint) { s.set(func() { e = s.endpoints }); return e },
		Failed:    func() (err error) { s.set(func() { err = s.failed }); return err },
	}, false, logger)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Serve(l))
	return func(path string) (int, string) {
		t.Helper()
		r, err := http.Get("http://" + l.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(text)
	}
}

func TestHealth(t *testing.T) {
	k, err := emulated.Open(t.TempDir(), emulated.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = k.Close() }()
	n, err := node.New(k, node.Config{WorkingDirs: []string{`C:\var\lib\kubelet`}})
	if err != nil {
		t.Fatal(err)
	}
	n = n.For(operation.Everything())
	s := &subject{node: n, endpoints: []Endpoint{{"a", true}, {"b", true}}}
	get := s.serve(t)
	expect := func(path string, wantCode int, want string) {
		t.Helper()
		if code, text := get(path); code != wantCode || text != want {
			t.Errorf("%s: got %d %q, want %d %q", path, code, text, wantCode, want)
		}
	}
	expect("/readyz", http.StatusOK, "ok\nendpoints: all accept\nkernel: answers\n")
	expect("/healthz", http.StatusOK, "ok\n")

	s.set(func() { s.endpoints = []Endpoint{{"a", true}, {"b", false}} })
	expect("/readyz", http.StatusServiceUnavailable, "not ready\nendpoints: not accepting: b\nkernel: answers\n")
	expect("/readyz", http.StatusServiceUnavailable, "not ready\nendpoints: not accepting: b\nkernel: answers\n")
	expect("/healthz", http.StatusOK, "ok\n")
	s.set(func() { s.failed = errors.New("the endpoint b stopped accepting") })
	expect("/healthz", http.StatusServiceUnavailable, "not ok\nthe endpoint b stopped accepting\n")
	s.set(func() { s.failed, s.endpoints = nil, []Endpoint{{"a", true}} })
	expect("/readyz", http.StatusOK, "ok\nendpoints: all accept\nkernel: answers\n")

	s.set(func() {
		if len(s.log) != 2 || !strings.Contains(s.log[0], "not ready") || !strings.Contains(s.log[0], "accepting: b") ||
			!strings.Contains(s.log[1], "ready again") {
			t.Errorf("want one line when the agent stops being ready and one when it is again, got %q", s.log)
		}
	})
}

// A node that was never there is not ready either, and can still be scraped.
func TestNoNode(t *testing.T) {
	s := &subject{}
	get := s.serve(t)
	if code, text := get("/readyz"); code != http.StatusServiceUnavailable ||
		!strings.Contains(text, "kernel: the node is rebooting or the agent is stopping\n") {
		t.Errorf("got %d %q", code, text)
	}
	if code, text := get("/metrics"); code != http.StatusOK || !strings.Contains(text, "\ncsi_proxy_kernel_up 0\n") ||
		!strings.Contains(text, "\n"+`csi_proxy_collect_success{collector="iscsi"} 0`+"\n") {
		t.Errorf("got %d %q", code, text)
	}
	if code, _ := get("/debug/pprof/"); code != http.StatusNotFound {
		t.Errorf("another path: %d", code)
	}
}
