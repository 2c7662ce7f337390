// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/common/expfmt"
)

// text returns all metrics in Prometheus' text format, compressed: a tenth of the text, which repeats itself. A broken
// metric does not hide the others. One call gathers at a time, so that many requests take no more than one processor.
func (m *Metrics) text() []byte {
	m.scrapes.Lock()
	defer m.scrapes.Unlock()
	families, err := m.registry.Gather()
	var compressed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&compressed, gzip.BestSpeed) // a level that there is
	for _, family := range families {
		_, bad := expfmt.MetricFamilyToText(z, family)
		err = errors.Join(err, bad)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		m.health.log.Info("Metrics are missing", "why", err)
	}
	return compressed.Bytes()
}

// scrape answers in Prometheus' text format. Prometheus takes it compressed. For other clients it is unpacked while
// they read: a client that does not read keeps no text.
func (m *Metrics) scrape(w http.ResponseWriter, r *http.Request) {
	body := m.text()
	w.Header().Set("Content-Type", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	w.Header().Set("Vary", "Accept-Encoding")
	if acceptsGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
		return
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err == nil {
		// Without a buffer of this size, net/http would copy with a larger one for each client.
		_, _ = io.CopyBuffer(struct{ io.Writer }{w}, z, make([]byte, 4<<10)) //nolint:gosec // we compressed it ourselves
	}
}

// acceptsGzip reports whether a request lists gzip without a weight of 0 (RFC 9110, 12.5.3).
func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(weight), "q="), 64)
			return err != nil || q > 0
		}
	}
	return false
}
