// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kubernetes-csi/csi-proxy/internal/webserver"
)

// maxScrapes is how many scrapes are answered at once; more get 503.
const maxScrapes = 4

// Serve serves /metrics, /healthz and /readyz over plain HTTP without authentication, so the listener is best on a
// loopback address. Healthz is OK while the process and its listeners live, readyz when calls would be served. The
// returned function closes the listener and gives running answers a moment to end.
func (m *Metrics) Serve(l net.Listener) (stop func()) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: maxScrapes,
		ErrorHandling:       promhttp.ContinueOnError, // a broken metric does not hide the others
		ErrorLog:            scrapeLog{m},
	}))
	mux.HandleFunc("GET /healthz", answer(m.health.Live))
	mux.HandleFunc("GET /readyz", answer(m.health.Ready))
	return webserver.Serve(l, mux)
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

// scrapeLog logs errors of collecting metrics.
type scrapeLog struct{ m *Metrics }

func (l scrapeLog) Println(v ...any) { l.m.health.log.Info("Metrics are missing", "why", v) }
