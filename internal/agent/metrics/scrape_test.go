// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Each client gets the metrics in a coding that it takes.
func TestCodings(t *testing.T) {
	address := serve(t)
	for accepts, packed := range map[string]bool{
		"": false, "identity": false, "gzip": true, "GZIP": true, "deflate, gzip;q=0.8": true, "gzip;q=0": false,
		"gzip; q=0.0, identity": false, "zstd,gzipped": false,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address.String()+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept-Encoding", accepts) // also the empty one keeps Go from asking for gzip
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if got := response.Header.Get("Content-Encoding") == "gzip"; got != packed || err != nil {
			t.Errorf("%q: compressed %t, want %t (%v)", accepts, got, packed, err)
			continue
		}
		if packed {
			z, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if body, err = io.ReadAll(z); err != nil {
				t.Errorf("%q: %v", accepts, err)
			}
		}
		if !strings.HasPrefix(string(body), "# HELP ") || !strings.Contains(string(body), `x1999"} 1`) {
			t.Errorf("%q: got %.100q, %d bytes, not all metrics", accepts, body, len(body))
		}
	}
}
