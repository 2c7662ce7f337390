// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// watched is an agent as its operator sees it.
type watched struct {
	*caller.Node
	url string
}

func startWatched(t *testing.T) *watched {
	t.Helper()
	if testnode.OnWine() {
		t.Skip("require Windows or another system: this test proves nothing under Wine")
	}
	n := caller.Start(t, testnode.Options{Metrics: true, KernelHistograms: true})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	caller.OK(t, err)
	t.Cleanup(n.Agent.Metrics().Serve(l))
	return &watched{n, "http://" + l.Addr().String()}
}

func (w *watched) get(t *testing.T, path string) (code int, text string) {
	t.Helper()
	r, err := http.Get(w.url + path)
	caller.OK(t, err)
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	caller.OK(t, err)
	return r.StatusCode, string(body)
}

// page is one answer of /metrics.
type page string

func (w *watched) scrape(t *testing.T) page {
	t.Helper()
	code, text := w.get(t, "/metrics")
	if code != http.StatusOK {
		t.Fatalf("metrics: %d\n%s", code, text)
	}
	return page(text)
}

// value returns the value of one series, given by its name and its labels in alphabetical order.
func (p page) value(series string) (value float64, ok bool) {
	for line := range strings.Lines(string(p)) {
		if rest, found := strings.CutPrefix(line, series+" "); found {
			value, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			return value, err == nil
		}
	}
	return 0, false
}

// has checks series, given as lines of the page.
func (p page) has(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		i := strings.LastIndexByte(line, ' ')
		series, want := line[:i], line[i+1:]
		switch got, ok := p.value(series); {
		case !ok:
			t.Errorf("there is no %s", series)
		case fmt.Sprint(got) != want:
			t.Errorf("%s is %v, want %s", series, got, want)
		}
	}
}

// until scrapes until a series has a value: the effects of a call on the node show soon, but not at once.
func (w *watched) until(t *testing.T, line string) page {
	t.Helper()
	i := strings.LastIndexByte(line, ' ')
	deadline := time.Now().Add(5 * time.Minute)
	for {
		p := w.scrape(t)
		got, ok := p.value(line[:i])
		if ok && fmt.Sprint(got) == line[i+1:] {
			return p
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s stays %v", line[:i], got)
		}
	}
}
