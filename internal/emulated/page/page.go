// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/emulation"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
)

// Config is what the page shows and by whom it may be opened.
type Config struct {
	// Harness is the node that the page looks at.
	Harness *emulation.Harness
	// Admin changes the node, so that the journal has the changes. Nil: the page only looks.
	Admin *adminclient.Client
	// WorkingDirs are the agent's.
	WorkingDirs []string
	// Hosts are names by which browsers may reach the page, besides those of this machine itself.
	Hosts []string
}

// A page is one agent's page.
type page struct {
	config  Config
	storage *storage
	methods map[string]method
	token   string // with which the page that was served proves itself
	html    []byte
	policy  string // of the page's content
}

//go:embed index.html
var index string

// New returns the handler of the page and of the requests that it makes.
func New(c Config) (http.Handler, error) {
	// A node of its own looks at the storage, past the journal, the faults and the timing: else the journal would have
	// little but the page's own calls, and a fault would blind the page that added it.
	looking, err := node.New(c.Harness.Node, node.Config{WorkingDirs: c.WorkingDirs})
	if err != nil {
		return nil, err
	}
	looking = looking.For(operation.Everything())
	p := &page{config: c, storage: &storage{node: looking}, token: rand.Text()}
	if c.Admin != nil {
		p.methods = methods(c.Admin)
	}
	p.html = bytes.ReplaceAll([]byte(index), []byte("{{token}}"), []byte(p.token))
	p.policy = fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; connect-src 'self'; base-uri 'none'; "+
		"form-action 'none'; "+
		"frame-ancestors 'none'; require-trusted-types-for 'script'", hash("script"), hash("style"))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.serveHTML)
	mux.HandleFunc("POST /state", answering(p.serveState))
	mux.HandleFunc("POST /reattach", p.changing(p.serveReattach))
	mux.HandleFunc("POST /call/{method}", p.changing(p.serveCall))
	return p.guard(http.MaxBytesHandler(mux, maxRequest)), nil
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
	_, _ = w.Write(p.html)
}

const (
	tokenHeader = "X-CSI-Proxy-Token" //nolint:gosec // the name of a header
	maxRequest  = 64 << 10            // bytes; a fault is a few hundred
)

// guard keeps other sites in the user's browser from using the page: those whose name leads to this machine (DNS
// rebinding), by the host's name; those that send requests to it, by their origin and by the token that only the page
// itself has. Another user of this machine is not kept out.
func (p *page) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		w.Header().Set("Cache-Control", "no-store")
		switch {
		case !p.serves(r.Host):
			http.Error(w, "this page is not served by the name "+strings.ToValidUTF8(r.Host, "?")+"; allow it with -ui-hosts",
				http.StatusForbidden)
			return
		case origins.Check(r) != nil:
			http.Error(w, "a request of another site", http.StatusForbidden)
			return
		case r.Method == http.MethodPost &&
			subtle.ConstantTimeCompare([]byte(r.Header.Get(tokenHeader)), []byte(p.token)) != 1:
			http.Error(w, "not a request of this agent's page; load the page again", http.StatusForbidden)
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
