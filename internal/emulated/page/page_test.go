// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
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
	admin   string // path of the admin endpoint
}

// open serves the page of a new node.
func open(t *testing.T) *site {
	t.Helper()
	dir := t.TempDir()
	a, err := emulation.Start(t.Context(), emulation.Config{StateDir: dir, Node: emulated.Options{},
		Config: agent.Config{Transport: transport.Options{SocketDir: shortDir(t), PipePrefix: "test-" + rand.Text() + "-"}}})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{Node: csiproxytest.FromAgent(t, a), t: t, admin: a.Path(admin.EndpointName)}
	handler, err := page.New(page.Config{Agent: a, Hosts: []string{"bench.example"}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(page.Serve(l, handler))
	s.address = l.Addr().String()
	return s
}

// send makes a request; the headers may replace the usual ones.
func (s *site) send(method, path string, headers map[string]string) (code int, text string, got http.Header) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.address+path, nil)
	if err != nil {
		s.t.Fatal(err)
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
	Agent   string
	Journal struct{ Newest, Searched string }
	Tree    *struct {
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
	Node struct {
		SMBServers []struct {
			Name    string
			Stopped bool
		}
	}
}

func (s *site) state(after string, version uint64) (st state) {
	s.t.Helper()
	code, text, _ := s.send("GET", fmt.Sprintf("/state?after=%s&tree=%d", after, version), nil)
	if err := json.Unmarshal([]byte(text), &st); err != nil || code != http.StatusOK {
		s.t.Fatalf("the state: %d %s %v", code, text, err)
	}
	return st
}

// Every other site is kept out, whatever of the protections its browser has.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	s := open(t)
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
		"the page's own request": {"GET",
			map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://" + s.address}, 200},
		"a change":       {"POST", nil, 405},
		"another method": {"PUT", nil, 405},
		"a preflight": {"OPTIONS",
			map[string]string{"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}, 405},
	} {
		for _, path := range []string{"/", "/state?after=0&tree=0"} {
			code, text, headers := s.send(c.method, path, c.headers)
			if code != c.want {
				t.Errorf("%s: got %d %s, want %d", name, code, text, c.want)
			}
			if headers.Get("Access-Control-Allow-Origin") != "" || headers.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: got headers %v", name, headers)
			}
		}
	}
	if code, _, _ := s.send("GET", "/",
		map[string]string{"X-Long": strings.Repeat("x", 64<<10)}); code != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("long headers: got %d", code)
	}
	_, html, headers := s.send("GET", "/", nil)
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

// The page shows what was changed elsewhere: disks, servers and faults.
func TestShows(t *testing.T) {
	t.Parallel()
	s := open(t)
	first := s.state("0", 0)
	if first.Agent == "" || first.Tree == nil || len(first.Tree.Tree.Disks) != 3 {
		t.Fatalf("got %+v", first)
	}
	control, err := adminclient.DialPath(t.Context(), s.admin)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = control.Close() }()
	_, err = control.Add(t.Context(), &api.AddRequest{Document: api.Document("disks",
		map[string]any{"size": 1 << 30, "serial": "by-test"})})
	for _, fault := range []*api.Fault{{Function: "OpenDevice", Fail: "ERROR_NOT_READY", Times: 1},
		{Method: "volume/MountVolume", Status: "UNAVAILABLE", Message: "m", AfterEffect: true}} {
		_, err2 := control.AddFault(t.Context(), &api.AddFaultRequest{Fault: fault})
		err = errors.Join(err, err2)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.StopSMBServer("fs.emulated")
	st := s.state(first.Journal.Newest, first.Version)
	if st.Tree == nil || len(st.Tree.Tree.Disks) != 4 || st.Tree.Tree.Disks[3].SerialNumber != "by-test" {
		t.Errorf("got the tree %+v", st.Tree)
	}
	if len(st.Node.SMBServers) != 1 || !st.Node.SMBServers[0].Stopped {
		t.Errorf("got the servers %+v", st.Node.SMBServers)
	}
	if len(st.Faults) != 2 || st.Faults[0].Calls != "OpenDevice" || st.Faults[0].Effect != "ERROR_NOT_READY" ||
		st.Faults[1].Effect != `UNAVAILABLE "m" after` {
		t.Errorf("got the faults %+v", st.Faults)
	}
	for _, query := range []string{"", "?after=x&tree=0", "?after=0&tree=-1"} {
		if code, text, _ := s.send("GET", "/state"+query, nil); code != http.StatusBadRequest {
			t.Errorf("%q: got %d %s", query, code, text)
		}
	}
}

// Looking fills the journal with nothing, is not disturbed by faults, and sends only what has changed.
func TestReadingThePageChangesNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	st := s.state("0", 0)
	reached, release := s.Hang(csiproxytest.Calls{Function: "OpenDevice"})
	done := make(chan error, 1)
	go func() {
		_, err := s.Disk.ListDiskLocations(t.Context(), &diskv1.ListDiskLocationsRequest{})
		done <- err
	}()
	<-reached
	for range 3 {
		if again := s.state(st.Journal.Newest, st.Version); again.Tree != nil || again.Version != st.Version {
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
