// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/emulation"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
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
	mux.HandleFunc("POST /state", p.serveState)
	mux.HandleFunc("POST /fault", p.serveFault)
	mux.HandleFunc("POST /reattach", p.serveReattach)
	mux.HandleFunc("POST /call/{method}", p.serveCall)
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
	_, _ = w.Write(p.html)
}
