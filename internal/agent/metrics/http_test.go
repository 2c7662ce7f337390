// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"net/http"
	"os"
	"testing"
)

// A page in a browser on the node cannot read the metrics by a name that it makes lead to this machine.
func TestNamesOfALoopbackAddress(t *testing.T) {
	address := serve(t).String()
	self, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{
		address: http.StatusOK, "localhost:29660": http.StatusOK, "LOCALHOST": http.StatusOK, "[::1]:29660": http.StatusOK,
		self: http.StatusOK, "10.0.0.4": http.StatusOK, "attacker.example:29660": http.StatusForbidden,
		"127.0.0.1.attacker.example": http.StatusForbidden, self + ".attacker.example": http.StatusForbidden,
	} {
		for _, path := range []string{"/metrics", "/readyz", "/healthz"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Host = host
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if got := response.StatusCode; (got == http.StatusForbidden) != (want == http.StatusForbidden) {
				t.Errorf("%s of %s: got %d, want %d", path, host, got, want)
			}
		}
	}
}
