// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/admin"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/emulation"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/page"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
)

// site is the page of a node.
type site struct {
	*csiproxytest.Node
	t       *testing.T
	address string
	token   string
}

// open serves the page of a new node.
func open(t *testing.T, readOnly bool) *site {
	t.Helper()
	dir := t.TempDir()
	a, err := emulation.Start(t.Context(), emulation.Config{StateDir: dir, Node: emulated.Options{},
		Config: agent.Config{Transport: transport.Options{SocketDir: shortDir(t), PipePrefix: "test-" + rand.Text() + "-"}}})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{Node: csiproxytest.FromAgent(t, a), t: t}
	c := page.Config{Harness: a.Harness, Hosts: []string{"bench.example"}}
	if !readOnly {
		if c.Admin, err = adminclient.DialPath(t.Context(), a.Path(admin.EndpointName)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Admin.Close() })
	}
	handler, err := page.New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(page.Serve(l, handler))
	s.address = l.Addr().String()
	_, html, _ := s.send("GET", "/", "", nil)
	s.token = regexp.MustCompile(`name="token" content="([A-Z2-7]{26})"`).FindStringSubmatch(html)[1]
	return s
}

// send makes a request; the headers may replace the usual ones.
func (s *site) send(method, path, body string, headers map[string]string) (code int, text string, got http.Header) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.address+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if method == "POST" {
		r.Header.Set("X-CSI-Proxy-Token", s.token)
	}
	for name, value := range headers {
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(content), response.Header
}

// state is the part of the page's state that tests look at.
type state struct {
	ReadOnly bool
	Journal  struct{ Newest, Searched string }
	Tree     *struct {
		Tree struct {
			Disks []struct {
				Number       uint32 `json:"diskNumber"`
				SerialNumber string
				SizeBytes    int64
			}
		}
	}
	Version uint64
	Faults  []struct {
		ID            uint64
		Calls, Effect string
		Disturbed     uint64
	}
	Functions []string
	Network   struct {
		Servers []struct {
			Name    string
			Stopped bool
		}
	}
}

func (s *site) state(after string, version uint64) (st state) {
	s.t.Helper()
	code, text, _ := s.send("POST", "/state", fmt.Sprintf(`{"after":%s,"tree":%d}`, after, version), nil)
	if err := json.Unmarshal([]byte(text), &st); err != nil || code != http.StatusOK {
		s.t.Fatalf("the state: %d %s %v", code, text, err)
	}
	return st
}

// want makes a request of the page and checks the answer.
func (s *site) want(code int, text, path, body string) {
	s.t.Helper()
	if gotCode, got, _ := s.send("POST", path, body, nil); gotCode != code || !strings.Contains(got, text) {
		s.t.Errorf("%s %s: got %d %s, want %d %s", path, body, gotCode, got, code, text)
	}
}

// Every other site is kept out, whatever of the protections its browser has.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	s := open(t, false)
	_, port, _ := net.SplitHostPort(s.address)
	for name, c := range map[string]struct {
		method  string
		headers map[string]string
		want    int
	}{
		"the page":               {"GET", nil, 200},
		"by name":                {"GET", map[string]string{"Host": "localhost:" + port}, 200},
		"by IPv6":                {"GET", map[string]string{"Host": "[::1]:" + port}, 200},
		"by an allowed name":     {"GET", map[string]string{"Host": "Bench.example"}, 200},
		"DNS rebinding":          {"GET", map[string]string{"Host": "evil.example:" + port}, 403},
		"a name with a loopback": {"GET", map[string]string{"Host": "127.0.0.1.evil.example"}, 403},
		"another address":        {"GET", map[string]string{"Host": "192.0.2.1:" + port}, 403},
		"a link of another site": {"GET", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
			200},
		"the page's own request": {"POST",
			map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://" + s.address}, 200},
		"without a token":        {"POST", map[string]string{"X-CSI-Proxy-Token": ""}, 403},
		"with another token":     {"POST", map[string]string{"X-CSI-Proxy-Token": "A" + s.token[1:] + "A"}, 403},
		"of another site":        {"POST", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"of another port":        {"POST", map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		"of an old browser":      {"POST", map[string]string{"Origin": "http://evil.example"}, 403},
		"rebinding with a token": {"POST", map[string]string{"Host": "evil.example", "Origin": "http://evil.example"}, 403},
		"a sandboxed frame":      {"POST", map[string]string{"Origin": "null"}, 403},
		"another method":         {"PUT", map[string]string{"X-CSI-Proxy-Token": s.token}, 405},
		"a preflight": {"OPTIONS",
			map[string]string{"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}, 405},
		"an address as the token": {"POST", map[string]string{"X-CSI-Proxy-Token": s.address}, 403},
	} {
		path := "/"
		if c.method == "POST" || c.method == "PUT" {
			path = "/state"
		}
		code, text, headers := s.send(c.method, path, "{}", c.headers)
		if code != c.want {
			t.Errorf("%s: got %d %s, want %d", name, code, text, c.want)
		}
		if headers.Get("Access-Control-Allow-Origin") != "" || headers.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: got headers %v", name, headers)
		}
	}
	if code, _, _ := s.send("GET", "/", "",
		map[string]string{"X-Long": strings.Repeat("x", 64<<10)}); code != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("long headers: got %d", code)
	}
	_, html, headers := s.send("GET", "/", "", nil)
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "script-src 'sha256-",
		"connect-src 'self'", "require-trusted-types-for"} {
		if !strings.Contains(headers.Get("Content-Security-Policy"), want) {
			t.Errorf("the policy has no %s: %v", want, headers)
		}
	}
	if headers.Get("X-Frame-Options") != "DENY" || headers.Get("Cache-Control") != "no-store" {
		t.Errorf("got headers %v", headers)
	}
	if found := regexp.MustCompile(`(src|href|action)=|https?://|innerHTML|\bon[a-z]+="`).FindAllString(
		html, -1); found != nil {
		t.Errorf("the page has %q: it loads something, or makes markup of what the node says", found)
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	s := open(t, false)
	first := s.state("0", 0)
	if first.ReadOnly || first.Tree == nil || len(first.Tree.Tree.Disks) != 3 || len(first.Functions) < 30 {
		t.Fatalf("got %+v", first)
	}
	s.want(200, `"number":3`, "/call/Add", `{"document":{"disks":[{"size":1073741824,"serial":"by-page"}]}}`)
	s.want(200, "{}", "/call/Change", `{"document":{"disks":[{"number":3,"size":2147483648}]}}`)
	s.want(200, "{}", "/call/Change", `{"document":{"smbServers":[{"name":"fs.emulated","stopped":true}]}}`)
	s.want(400, "only its name", "/call/Change", `{"document":{"smbServers":[{"name":"typo"}]}}`)
	s.want(200, `"id":"1"`, "/call/AddFault",
		`{"fault":{"function":"OpenDevice","controlCode":"","fail":"ERROR_NOT_READY","times":1}}`)
	s.want(200, `"id":"2"`, "/call/AddFault",
		`{"fault":{"method":"volume/MountVolume","status":"UNAVAILABLE","message":"m","afterEffect":true}}`)
	st := s.state(first.Journal.Newest, first.Version)
	if st.Tree == nil || len(st.Tree.Tree.Disks) != 4 || st.Tree.Tree.Disks[3].SerialNumber != "by-page" ||
		st.Tree.Tree.Disks[3].SizeBytes != 2<<30 {
		t.Errorf("got the tree %+v", st.Tree)
	}
	if len(st.Network.Servers) != 1 || !st.Network.Servers[0].Stopped {
		t.Errorf("got the servers %+v", st.Network.Servers)
	}
	if len(st.Faults) != 2 || st.Faults[0].Calls != "OpenDevice" || st.Faults[0].Effect != "ERROR_NOT_READY" ||
		st.Faults[1].Effect != `UNAVAILABLE "m" after` {
		t.Errorf("got the faults %+v", st.Faults)
	}
	s.want(200, "{}", "/call/RemoveFault", `{"id":"1"}`)
	if text := s.JournalText(); !strings.Contains(text,
		`EmulatedNode/Add {"document":{"disks":[{"serial":"by-page","size":1073741824}]}}`) {
		t.Errorf("the journal does not have the page's calls:\n%s", text)
	}
	s.want(200, "", "/call/Reboot", `{}`)

	s.want(400, "disk 99", "/call/Remove", `{"document":{"disks":[{"number":99}]}}`)
	s.want(400, "unknown field", "/call/Remove", `{"disk":99}`)
	s.want(403, "does not set disks; use", "/call/Remove", `{"document":{"disks":[{"disks":99}]}}`)
	s.want(403, "does not set bundle; use", "/call/Add", `{"document":{"disks":[{"size":1073741824,"bundle":"/etc/x"}]}}`)
	s.want(400, "not a gRPC error code", "/call/AddFault", `{"fault":{"method":"disk","status":"NOT_READY"}}`)
	s.want(400, "unknown kernel function", "/call/AddFault", `{"fault":{"function":"Foo","hang":true}}`)
	s.want(400, "unknown field", "/call/AddFault", `{"fault":{"functions":"Foo"}}`)
	s.want(403, "does not call Get", "/call/Get", `{"part":"hostPath","windowsPath":"C:\\"}`)
	s.want(403, "does not set smbUsers", "/call/Change", `{"document":{"smbUsers":[]}}`)
	s.want(400, "too large", "/call/Reboot", `{`+strings.Repeat(" ", 100<<10)+`}`)
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	s := open(t, true)
	st := s.state("0", 0)
	if !st.ReadOnly || len(st.Tree.Tree.Disks) != 3 {
		t.Errorf("got %+v", st)
	}
	for _, path := range []string{"/call/Add", "/call/Reboot", "/call/RemoveFault", "/call/AddFault"} {
		s.want(403, "-ui-read-only", path, `{}`)
	}
	if after := s.state("0", 0); after.Journal.Newest != st.Journal.Newest || after.Version != st.Version {
		t.Errorf("something has changed: %+v", after)
	}
}

// Looking fills the journal with nothing, is not disturbed by faults, and sends only what has changed.
func TestReadingThePageChangesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, false)
	st := s.state("0", 0)
	reached, release := s.Hang(csiproxytest.Calls{Function: "OpenDevice"})
	done := make(chan error, 1)
	go func() {
		_, err := s.Disk.ListDiskLocations(t.Context(), &diskv1.ListDiskLocationsRequest{})
		done <- err
	}()
	<-reached
	for range 3 {
		if again := s.state(st.Journal.Newest, st.Version); again.Tree != nil || again.Version != st.Version ||
			again.Functions != nil {
			t.Errorf("a state without a change: got %+v", again)
		}
	}
	release()
	if err := <-done; err != nil {
		t.Error(err)
	}
	before := s.Newest()
	for range 3 {
		s.state("0", 0)
	}
	if after := s.Newest(); after != before {
		t.Errorf("looking made entries #%d to #%d of the journal", before+1, after)
	}
}

// shortDir returns a directory whose path is short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "csi") //nolint:usetesting // t.TempDir has the test's name in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
