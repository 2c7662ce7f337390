// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxConnections is how many connections may be open: scrapes and probes need a handful.
const maxConnections = 256

// Serve serves /metrics, /healthz and /readyz over plain HTTP without authentication, best on a loopback address.
// Healthz is OK while the process and its listeners live, readyz when calls would be served. Stop ends it.
func (m *Metrics) Serve(l net.Listener) (stop func()) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", m.scrape)
	mux.HandleFunc("GET /healthz", answer(m.health.Live))
	mux.HandleFunc("GET /readyz", answer(m.health.Ready))
	s := &http.Server{Handler: ownNames(mux), ConnState: closeOldest(), MaxHeaderBytes: 8 << 10,
		ReadTimeout: 10 * time.Second, WriteTimeout: 20 * time.Second, IdleTimeout: time.Minute}
	go func() { _ = s.Serve(l) }() // ends with ErrServerClosed when stopped
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second) // for running answers
		defer cancel()
		if s.Shutdown(ctx) != nil {
			_ = s.Close()
		}
	}
}

// closeOldest keeps at most maxConnections open. One more closes the oldest: so no number of connections, whatever they
// send or leave unread, keeps out a probe.
func closeOldest() func(net.Conn, http.ConnState) {
	var mu sync.Mutex
	var open []net.Conn
	return func(c net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		switch state {
		case http.StateNew:
			if open = append(open, c); len(open) > maxConnections {
				_ = open[0].Close()
				open = slices.Delete(open, 0, 1)
			}
		case http.StateClosed:
			open = slices.DeleteFunc(open, func(other net.Conn) bool { return other == c })
		}
	}
}

// ownNames refuses a request that came to a loopback address for a name of another machine: a page in a browser on this
// one, whose name was made to lead here (DNS rebinding). Other addresses answer everyone, by any name.
func ownNames(next http.Handler) http.Handler {
	self, _ := os.Hostname()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
		if local != nil && local.IP.IsLoopback() && !isOwnName(r.Host, self) {
			http.Error(w, "this address is not served by the name "+strings.ToValidUTF8(r.Host, "?")+"; use 127.0.0.1",
				http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isOwnName reports whether a Host header, with or without a port, is an address, localhost or this machine's name.
func isOwnName(host, self string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	_, err := netip.ParseAddr(host)
	return err == nil || host == "" || strings.EqualFold(host, "localhost") || strings.EqualFold(host, self)
}

func answer(check func(context.Context) (ok bool, report string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ok, report := check(r.Context())
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if !ok {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write([]byte(report))
	}
}
