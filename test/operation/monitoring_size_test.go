// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// What the agent sends Prometheus stays small when each method has been called, with all metrics of each.
func TestSizeOfAScrape(t *testing.T) {
	w := startWatched(t)
	called := 0
	for _, e := range apis.All(&node.Node{}) {
		conn, err := dial.Open(t.Context(), w.Agent.Path(e.Name), dial.Options{})
		caller.OK(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		for _, service := range e.Services {
			for _, m := range service.Methods {
				_ = conn.Invoke(t.Context(), service.Path(m), &emptypb.Empty{}, &emptypb.Empty{})
				called++
			}
		}
	}
	text := w.scrape(t)
	if n := strings.Count(string(text), "\ngrpc_server_handling_seconds_count{"); n != called {
		t.Errorf("%d methods were called, and %d have histograms", called, n)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/metrics", nil)
	caller.OK(t, err)
	request.Header.Set("Accept-Encoding", "gzip") // as Prometheus does; Go unpacks it only if it asked itself
	response, err := http.DefaultClient.Do(request)
	caller.OK(t, err)
	defer func() { _ = response.Body.Close() }()
	sent, err := io.Copy(io.Discard, response.Body)
	caller.OK(t, err)
	if sent > 64<<10 {
		t.Errorf("of %d bytes of text %d are sent, want at most 64 KiB", len(text), sent)
	}
}
