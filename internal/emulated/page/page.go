// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/emulation"
)

// Config is what the page shows and by whom it may be opened.
type Config struct {
	// Agent serves the node that the page looks at.
	Agent *emulation.Agent
	// WorkingDirs are the agent's.
	WorkingDirs []string
	// Hosts are names by which browsers may reach the page, besides those of this machine itself.
	Hosts []string
}

// A page is one agent's page.
type page struct {
	config  Config
	storage *storage
	agent   string // another one's page has to be loaded again: its journal begins anew
	policy  string // of the page's content
}

//go:embed index.html
var index string

// New returns the handler of the page and of the requests that it makes.
func New(c Config) (http.Handler, error) {
	// A node of its own looks at the storage, past the journal, the faults and the timing: else the journal would have
	// little but the page's own calls, and a fault would blind the page that added it.
	looking, err := node.New(c.Agent.Emulated, node.Config{WorkingDirs: c.WorkingDirs})
	if err != nil {
		return nil, err
	}
	p := &page{config: c, storage: &storage{node: looking.For(operation.Everything())}, agent: rand.Text()}
	p.policy = fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; connect-src 'self'; base-uri 'none'; "+
		"form-action 'none'; "+
		"frame-ancestors 'none'; require-trusted-types-for 'script'", hash("script"), hash("style"))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.serveHTML)
	mux.HandleFunc("GET /state", p.serveState)
	return p.guard(mux), nil
}

// hash returns the source expression of a content security policy for the one element of a name in the page.
func hash(element string) string {
	_, rest, _ := strings.Cut(index, "<"+element+">")
	content, _, _ := strings.Cut(rest, "</"+element+">")
	sum := sha256.Sum256([]byte(content))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func (p *page) serveHTML(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", p.policy)
	w.Header().Set("X-Frame-Options", "DENY")
	w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
	_, _ = io.WriteString(w, index)
}

// guard keeps other sites in the user's browser from reading the page: the browser itself does, but for a site whose
// name leads to this machine (DNS rebinding). Another user of this machine is not kept out.
func (p *page) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		w.Header().Set("Cache-Control", "no-store")
		if !p.serves(r.Host) {
			http.Error(w, "this page is not served by the name "+strings.ToValidUTF8(r.Host, "?")+"; allow it with -ui-hosts",
				http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// serves reports whether a request for a host, with or without a port, is for the page: by a loopback name or address,
// or by a name that was allowed.
func (p *page) serves(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if address, err := netip.ParseAddr(host); err == nil && address.IsLoopback() {
		return true
	}
	return host == "localhost" || slices.ContainsFunc(p.config.Hosts,
		func(allowed string) bool { return strings.EqualFold(allowed, host) })
}

// Serve answers the requests of a listener until stop is called, which gives running answers a moment to end.
func Serve(l net.Listener, handler http.Handler) (stop func()) {
	s := &http.Server{Handler: handler, MaxHeaderBytes: 8 << 10, ReadTimeout: 10 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: time.Minute}
	go func() { _ = s.Serve(l) }() // ends with ErrServerClosed when stopped
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if s.Shutdown(ctx) != nil {
			_ = s.Close()
		}
	}
}
